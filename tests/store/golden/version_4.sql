BEGIN TRANSACTION;
CREATE TABLE fairtrial_ballots (
	run INTEGER NOT NULL, 
	"key" VARCHAR(128) NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run, "key")
);
INSERT INTO "fairtrial_ballots" VALUES(1,'b-1',X'28B52FFD633A026F2BD70065000000023CCD23B582A84A9F0001');
CREATE TABLE fairtrial_cases (
	run INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	eval_set TEXT NOT NULL, 
	case_id TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run, position)
);
INSERT INTO "fairtrial_cases" VALUES(1,0,'shop','order_status','81550fd091f96cd65ef7d1920498f7809057c40c9cad5202868d1dad35b80501','order_status',X'28B52FFD633A026F2B54034500000001005188EF8740');
CREATE TABLE fairtrial_criteria (
	run INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run, number)
)
 WITHOUT ROWID

;
INSERT INTO "fairtrial_criteria" VALUES(1,0,'match',X'28B52FFD233A026F2BA47D0000087B03FC1051FEC878A7F6F056110A');
INSERT INTO "fairtrial_criteria" VALUES(1,1,'tokens',X'28B52FFD233A026F2BA4E50000087B08FCA23CDDACFB681C5B6A1D5CD815C97FCB43F4D69E79127201');
INSERT INTO "fairtrial_criteria" VALUES(1,2,'polite',X'28B52FFD233A026F2BA5A50000087B05FC8051FE3F7DC17F6111A0DE5E4A35F801');
INSERT INTO "fairtrial_criteria" VALUES(1,3,'polite',X'28B52FFD233A026F2BA58D0000087B04FC8551FEF3DFA308FA6A4FA1BD91');
CREATE TABLE fairtrial_label_items (
	run INTEGER NOT NULL, 
	queue INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	copy INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	part TEXT NOT NULL, 
	probability DOUBLE NOT NULL, 
	holder TEXT NOT NULL, 
	held DOUBLE NOT NULL, 
	done BOOLEAN NOT NULL, 
	PRIMARY KEY (run, queue, number, copy)
);
CREATE TABLE fairtrial_label_queues (
	run INTEGER NOT NULL, 
	queue INTEGER NOT NULL, 
	criterion TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run, queue)
);
CREATE TABLE fairtrial_labels (
	number INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	eval_set TEXT NOT NULL, 
	case_id TEXT NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	attempt INTEGER NOT NULL, 
	criterion TEXT NOT NULL, 
	part TEXT NOT NULL, 
	value DOUBLE, 
	author TEXT NOT NULL, 
	at VARCHAR(40) NOT NULL, 
	note TEXT NOT NULL, 
	"key" VARCHAR(16) NOT NULL, 
	weight DOUBLE NOT NULL, 
	seconds DOUBLE, 
	blind BOOLEAN, 
	probability DOUBLE, 
	source TEXT DEFAULT '' NOT NULL, 
	side VARCHAR(16) DEFAULT '' NOT NULL, 
	reference TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "fairtrial_labels" VALUES(1,1,'shop','order_status','81550fd091f96cd65ef7d1920498f7809057c40c9cad5202868d1dad35b80501',1,'match','invocation/0/',1.0,'ann','2026-01-02T00:00:00Z','means the same','0123456789abcdef',2.5,NULL,NULL,NULL,'','','');
CREATE TABLE fairtrial_leases (
	run_id VARCHAR(64) NOT NULL, 
	token VARCHAR(32) NOT NULL, 
	machine VARCHAR(128) NOT NULL, 
	host VARCHAR(255) NOT NULL, 
	pid INTEGER NOT NULL, 
	since VARCHAR(40) NOT NULL, 
	seen DOUBLE NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE fairtrial_meta (
	schema_version INTEGER NOT NULL, 
	PRIMARY KEY (schema_version)
);
INSERT INTO "fairtrial_meta" VALUES(4);
CREATE TABLE fairtrial_recordings (
	run INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run, position, attempt)
);
INSERT INTO "fairtrial_recordings" VALUES(1,0,1,X'28B52FFD633A026F2BFD04AD000000067C00FC38DE3D493C89488EBE4E4D14304D05DC');
INSERT INTO "fairtrial_recordings" VALUES(1,0,2,X'28B52FFD633A026F2B8E007D000000047C006691479FA7A68E314D85AC');
CREATE TABLE fairtrial_replies (
	run INTEGER NOT NULL, 
	"key" VARCHAR(128) NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (run, "key")
);
INSERT INTO "fairtrial_replies" VALUES(1,'k-1',X'28B52FFD233A026F2B8645000000010083D4A20E10');
CREATE TABLE fairtrial_results (
	run INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	fault_side VARCHAR(16), 
	valid BOOLEAN, 
	body BLOB NOT NULL, 
	changed BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (run, position, attempt)
);
INSERT INTO "fairtrial_results" VALUES(1,0,1,'failed','agent',1,X'28B52FFD633A026F2BCE03450000000100CB30CD7F80',1);
INSERT INTO "fairtrial_results" VALUES(1,0,2,'error','simulator',0,X'28B52FFD633A026F2B9C0145010010335D0CFC7B3FF32FE1D258B488F9173D3F0E9752FBA17140BDC505F14A531E101B826988DD420B',2);
CREATE TABLE fairtrial_runs (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR(64) NOT NULL, 
	started VARCHAR(40) NOT NULL, 
	summary BLOB, 
	body BLOB NOT NULL, 
	UNIQUE (id)
);
INSERT INTO "fairtrial_runs" VALUES(1,'20260101-000000-aaaaaa','2026-01-01T00:00:00.000+00:00',X'28B52FFD633A026F2B440245000000010041DBB13A40',X'28B52FFD633A026F2B230065000000023C1910BA82A84A9F0001');
CREATE TABLE fairtrial_scores (
	run INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	criterion INTEGER NOT NULL, 
	value DOUBLE, 
	verdict VARCHAR(16) NOT NULL, 
	PRIMARY KEY (run, position, attempt, criterion)
)
 WITHOUT ROWID

;
INSERT INTO "fairtrial_scores" VALUES(1,0,1,0,0.5,'failed');
INSERT INTO "fairtrial_scores" VALUES(1,0,1,1,NULL,'informational');
INSERT INTO "fairtrial_scores" VALUES(1,0,1,2,1.0,'passed');
INSERT INTO "fairtrial_scores" VALUES(1,0,2,0,NULL,'unscored');
INSERT INTO "fairtrial_scores" VALUES(1,0,2,3,NULL,'unscored');
CREATE TABLE fairtrial_spans (
	number INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	trace_id VARCHAR(64) NOT NULL, 
	conversation VARCHAR(64) NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (number)
);
CREATE INDEX ix_fairtrial_labels_key ON fairtrial_labels ("key");
CREATE INDEX ix_fairtrial_labels_run ON fairtrial_labels (run);
CREATE INDEX fairtrial_results_by_change ON fairtrial_results (run, changed, position, attempt, verdict, fault_side, valid);
CREATE INDEX fairtrial_scores_by_verdict ON fairtrial_scores (run, criterion, verdict);
CREATE INDEX fairtrial_spans_by_conversation ON fairtrial_spans (run, conversation);
CREATE INDEX fairtrial_spans_by_trace ON fairtrial_spans (run, trace_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('fairtrial_runs',1);
COMMIT;
