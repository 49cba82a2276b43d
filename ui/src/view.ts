// `make ui` writes this file from the JSON Schema of the view model.

export interface AgentView {
  name: string;
  instructions?: string;
  tools?: (Record<string, unknown>)[];
}

export interface Agreement {
  table?: AgreementTable | null;
  accuracy: Estimate;
  sensitivity: Estimate;
  specificity: Estimate;
  youden: Estimate;
  kappa: Estimate;
  mcc: Estimate;
  quadratic_kappa: Estimate;
  judge_alpha: Estimate;
  spearman?: number | null;
  people_alpha?: number | null;
  votes_alpha?: number | null;
  reasons?: Record<string, string>;
}

export interface AgreementTable {
  people_pass_judge_pass?: number;
  people_pass_judge_fail?: number;
  people_fail_judge_pass?: number;
  people_fail_judge_fail?: number;
}

export interface AgreementView {
  labels: number;
  people: PeopleAgreementView[];
  judges: JudgeAgreementView[];
  disagreements: DisagreementView[];
}

export interface AlignedCall {
  relation: "changed" | "equal" | "missing" | "moved" | "surplus";
  expected?: number | null;
  actual?: number | null;
  pointers?: string[];
  allowed?: boolean;
  optional?: boolean;
  forbidden?: boolean;
}

export interface Approval {
  decision: "approve" | "edit" | "reject";
  by: "case" | "user";
  args?: Record<string, unknown> | null;
  reason?: string;
}

export interface AttackRate {
  attempts: number;
  hits: number;
  estimate: Estimate;
}

export interface AttackReport {
  kind: "attack";
  run: string;
  baseline: string;
  cases: number;
  utility: AttackRate;
  utility_attacked: AttackRate;
  success: AttackRate;
  exposure: AttackRate;
  reported: AttackRate;
  over_defence: AttackRate;
  undecided: number;
  rows: AttackRow[];
}

export interface AttackRow {
  by: "attack" | "goal" | "language" | "place" | "tool";
  name: string;
  success: AttackRate;
}

export interface AttemptRow {
  place: number;
  attempt: number;
  verdict: "error" | "failed" | "informational" | "passed" | "unscored";
  fault?: "agent" | "environment" | "expectation" | "infrastructure" | "judge" | "simulator" | null;
  invalid?: boolean;
  failed?: number[];
  unscored?: number[];
  tools?: number[];
  labelled?: boolean;
  seconds?: number | null;
  mode?: number | null;
  values?: (number | null)[];
  tokens?: number | null;
  cost?: number | null;
  disputed?: boolean;
}

export interface AttemptView {
  place: number;
  position: number;
  eval_set: string;
  case_id: string;
  name: string;
  digest: string;
  attempt: number;
  verdict: "error" | "failed" | "informational" | "passed" | "unscored";
  ended_by: "cap" | "expected_failure" | "failure" | "script" | "stop";
  outcomes: OutcomeView[];
  failure?: Failure | null;
  fault?: Fault | null;
  invalidations?: Fault[] | null;
  warnings?: string[];
  injections?: InvocationInjection[];
  usage?: Record<string, number> | null;
  judge?: ModelUsage | null;
  simulator?: ModelUsage | null;
  environment?: ModelUsage | null;
  trace?: InvocationView[] | null;
  expected?: ExpectedView | null;
  ballots?: Record<string, BallotView>;
  labels?: Label[];
  final_state?: Record<string, unknown> | null;
  reward?: number | null;
  mutation?: Mutation | null;
  agents?: AgentView[];
  decisive?: DecisiveView | null;
  probability?: number | null;
}

export interface BallotView {
  id: string;
  prompt: string;
  k: number;
  first_wave: number;
  decisions: Record<string, Decision>;
  prompts?: SentPrompt[];
  votes: VoteView[];
  settings?: Record<string, unknown>;
}

export interface BoardRequest {
  labeler: string;
  seen: number;
  action: "add" | "rename";
  name: string;
  to?: string;
}

export interface BoardView {
  run: string;
  seen: number;
  failures: number;
  read: number;
  drawn: number;
  columns: ColumnView[];
  people: PeopleView;
  more?: number;
  queued?: number;
}

export interface Calibration {
  criterion: string;
  judge: string;
  state: JudgeState;
  graded?: boolean;
  labels?: number;
  labelers?: number;
  ties?: number;
  unsure?: number;
  unscored?: number;
  agreement: Agreement;
  judged: Estimate;
  corrected: Estimate;
  flattery: Estimate;
  worth?: number | null;
  assumed_from?: string | null;
  error?: number | null;
  freedom?: number | null;
  decisions?: LabelledDecisions | null;
}

export interface CardView {
  position: number;
  attempt: number;
  name: string;
  reason: string;
  note?: string;
  authors?: number;
  split?: boolean;
  queued?: boolean;
}

export interface Cascade {
  criterion: string;
  decisions?: number;
  questions?: number;
  audited?: number;
  overruled?: number;
  error: Estimate;
}

export interface CascadeCounts {
  criterion: string;
  decisions?: number;
  questions?: number;
  audited?: number;
  overruled?: number;
}

export interface CaseKey {
  eval_set: string;
  case: string;
  digest: string;
}

export interface CaseRow {
  position: number;
  name: string;
  eval_set: string;
  verdict: "error" | "failed" | "informational" | "passed" | "unscored";
  attempts: AttemptRow[];
  query?: string;
  reason?: string;
  cause?: "agent" | "judge" | null;
  groups?: Record<string, string>;
}

export interface ClaimDecision {
  measure: string;
  claim: "at_least" | "at_most" | "better_by" | "not_worse_by";
  limit: number;
  alpha: number;
  estimate: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  p_against: number | null;
  evidence: number | null;
  evidence_against: number | null;
  waves: number | null;
  missing: [number, number];
  verdict: "failed" | "passed" | "undecided";
  why: string | null;
  needed: Needed | null;
  is_rate: boolean;
  lower_is_better: boolean;
  shared_cases?: boolean;
  judges?: JudgeStanding[];
  seen_by?: "judge" | "people" | null;
}

export interface ClaimedItems {
  queue: QueueView;
  items: LabelItemView[];
}

export interface ColumnView {
  key: string;
  name: string;
  total: number;
  read: number;
  cards: CardView[];
  drawn?: number;
  share: Estimate;
}

export interface ComparedCase {
  name: string;
  change: "broken" | "expectation_changed" | "fixed" | "flaky" | "only_base" | "only_candidate" | "same";
  base_passed: [number, number];
  candidate_passed: [number, number];
  base?: number | null;
  candidate?: number | null;
  moved?: Record<string, [number | null, number | null]>;
}

export interface ComparedMeasure {
  measure: string;
  base: number | null;
  candidate: number | null;
  difference: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  p_holm: number | null;
  method: string | null;
  cases: number;
  better: number;
  worse: number;
  equal: number;
  missing: [number, number];
  detectable: number | null;
  mcnemar: McNemar | null;
  verdict: "better" | "equal within the margin" | "no difference shown" | "worse" | null;
  comparable: boolean;
  judge: string | null;
  why: string | null;
  is_rate: boolean;
  informational: boolean;
  level: number;
}

export interface ComparedRun {
  id: string;
  started: string;
  kind: string;
  is_finished: boolean;
  cases: number;
  attempts: number;
  clusters?: number | null;
}

export interface ComparisonView {
  base: string;
  candidate: string;
  level: number;
  about: "cases-like-these" | "these-cases";
  rows: ComparedMeasure[];
  setup: SetupDifference[];
  warnings: string[];
  cases: ComparedCase[];
  margin?: number | null;
  units?: Record<string, string>;
}

export interface CriterionView {
  criterion: string;
  mean: Estimate;
  pass_rate: Estimate;
  passed?: number;
  failed?: number;
  unscored?: number;
  not_applicable?: number;
  informational?: number;
  errors?: number;
  threshold?: number | null;
  lower_is_better?: boolean;
  self_agreement?: number | null;
  panel_agreement?: number | null;
  calls?: number | null;
  calls_saved?: number | null;
  abstentions?: number | null;
  cost?: number | null;
  unpriced_calls?: number;
  pair_agreements?: PairAgreement[];
  valid?: Valid | null;
  range: Range;
  possible?: [number, number] | null;
  self_agreement_interval?: [number, number] | null;
  panel_agreement_interval?: [number, number] | null;
  cascade?: Cascade | null;
  unit?: string;
  judge?: Calibration | null;
  judge_message?: string;
  has_data: boolean;
}

export interface Decision {
  result: VoteResult;
  counted?: Record<string, number>;
  abstained?: number;
  draws?: number[];
}

export interface DecisiveStep {
  invocation: number;
  step: number | null;
  kind: "call" | "message" | "reply" | "result" | "thought" | "user";
  ordinal: number;
  text?: string;
}

export interface DecisiveView {
  reason: string;
  step?: DecisiveStep | null;
  evidence?: "break" | "contrast" | "expectation" | "side" | "symptom" | null;
  mode?: number | null;
}

export interface DisagreementView {
  criterion: string;
  position: number;
  attempt: number;
  name: string;
  passed: boolean;
  part?: PartKey | null;
}

export interface Durations {
  total?: number | null;
  model?: number | null;
  tool?: number | null;
  first_token?: number | null;
}

export interface Estimate {
  value?: number | null;
  low?: number | null;
  high?: number | null;
  method?: string | null;
}

export interface ExpectedView {
  conversation?: InvocationView[] | null;
  scenario?: Record<string, unknown> | null;
  rubrics?: (Record<string, string>)[];
  calls?: StepView[] | null;
  final_state?: Record<string, unknown> | null;
  context?: string;
  state?: Record<string, unknown>;
}

export interface Failure {
  side: "agent" | "environment" | "expectation" | "infrastructure" | "simulator";
  cause: string;
  traceback?: string;
}

export interface Fault {
  side: "agent" | "environment" | "expectation" | "infrastructure" | "judge" | "simulator";
  evidence?: string[];
}

export interface FirstDecision {
  criterion: string;
  decisive: boolean;
  saved?: number;
  audited?: boolean;
  judged?: number | null;
}

export interface FoundCases {
  positions: number[];
  groups?: ([string | number | null, number])[];
}

export interface GateDecision {
  kind: "gate";
  signature: string;
  level: number;
  about: "cases-like-these" | "these-cases";
  runs: ComparedRun[];
  verdict: "failed" | "passed" | "undecided";
  claims: ClaimDecision[];
  warnings: string[];
  attempts_saved: number | null;
  pairs?: Pairs | null;
}

export interface Injection {
  effect: string;
  detail?: string;
  invalidates?: boolean;
}

export interface IntervalEstimate {
  value: number | null;
  low?: number | null;
  high?: number | null;
}

export interface InvocationInjection {
  invocation: number;
  tool: string;
  injected: Injection;
}

export interface InvocationView {
  user?: StepView | null;
  steps?: StepView[] | null;
  reply?: StepView | null;
  usages?: Usage[];
  durations?: Durations | null;
  agents?: number[];
  cost?: number | null;
}

export interface JudgeAgreementView {
  criterion: string;
  judge: string;
  labels: number;
  accuracy: Estimate;
  sensitivity: Estimate;
  specificity: Estimate;
  kappa: Estimate;
  alpha: Estimate;
  table?: number[][] | null;
  part?: "call" | "check" | "fact" | "invocation" | "message" | "question" | "rubric" | "sentence" | null;
}

export interface JudgeAnswer {
  answer: string;
  rationale?: string;
  quote?: string;
  marks?: string[];
}

export interface JudgeCall {
  key: string;
  voter: string;
  served?: string;
  input_tokens?: number | null;
  output_tokens?: number | null;
  cost?: number | null;
  seconds?: number;
  problem?: string;
  sent: boolean;
  prompt?: number;
}

export interface JudgeStanding {
  run: string;
  criterion: string;
  judge: string;
  state: string;
  flattery: IntervalEstimate;
  corrected: IntervalEstimate;
  assumed_from: string | null;
}

export type JudgeState = "biased" | "good" | "too few" | "unchecked" | "useless";

export interface JudgeStats {
  calls: number;
  calls_saved: number;
  abstentions: number;
  cost?: number | null;
  self_agreement?: number | null;
  panel_agreement?: number | null;
  input_tokens?: number | null;
  output_tokens?: number | null;
  unreported_calls?: number;
  unpriced_calls?: number;
  pair_agreements?: PairAgreement[];
  cascade?: CascadeCounts | null;
}

export interface Label {
  case: CaseKey;
  attempt: number;
  criterion: string;
  part?: PartKey | null;
  value?: number | null;
  author?: string;
  at?: string;
  note?: string;
  key?: string;
  weight: number;
  seconds?: number | null;
  blind?: boolean | null;
  probability?: number | null;
  source?: string;
  side?: "agent" | "environment" | "expectation" | "infrastructure" | "judge" | "simulator" | "";
  reference?: string;
}

export interface LabelCriterionView {
  name: string;
  range: Range;
  judged?: boolean;
  parts?: ("call" | "check" | "fact" | "invocation" | "message" | "question" | "rubric" | "sentence")[];
}

export interface LabelItemView {
  number: number;
  copy: number;
  trace: InvocationView[];
  expected?: ExpectedView | null;
  text?: string;
  invocation?: number | null;
  outcome?: OutcomeView | null;
  labels?: Label[];
}

export interface LabelProgressView {
  done: number;
  total: number;
  mine?: number;
  share?: number;
  elsewhere?: number;
  median_seconds?: number | null;
}

export interface LabelRequest {
  labeler: string;
  window: string;
  number: number;
  copy: number;
  value: number | null;
  seconds: number;
  note?: string;
  side?: "agent" | "environment" | "expectation" | "infrastructure" | "judge" | "simulator" | null;
  reference?: string;
  again?: boolean;
}

export interface LabelledDecisions {
  criterion: string;
  labels?: number;
  errors?: number;
  error: Estimate;
}

export interface LabelsView {
  run: string;
  criteria: LabelCriterionView[];
  queues: QueueView[];
}

export interface LastingFailure {
  case: string;
  state: "broken" | "flaky";
  run: string;
  started: string;
  runs: number;
}

export interface McNemar {
  fixed: number;
  broken: number;
  exact: number;
  mid_p: number;
}

export interface ModeExample {
  position: number;
  attempt: number;
  name: string;
  decisive: DecisiveView;
}

export interface ModeView {
  number: number;
  name: string;
  side: "agent" | "environment" | "expectation" | "infrastructure" | "judge" | "simulator";
  cases: number;
  attempts: number;
  repaired: number;
  of_failures: Estimate;
  of_cases: Estimate;
  change?: "gone" | "grown" | "new" | "shrunk" | "unchanged" | null;
  example?: ModeExample | null;
}

export interface ModelUsage {
  calls?: number;
  input_tokens?: number | null;
  output_tokens?: number | null;
  cost?: number | null;
  unreported_calls?: number;
  unpriced_calls?: number;
}

export interface ModesView {
  cases: number;
  failed_cases: number;
  failed_attempts: number;
  total: number;
  modes: ModeView[];
  largest: number[];
  alone?: number;
  unplaced?: number;
  notes?: string[];
  lasting?: LastingFailure | null;
}

export interface Mutation {
  operator: string;
  direction: "harmful" | "harmless";
  invocation: number;
  language?: string;
  weight: number;
  tool?: string;
  family: "calls" | "facts" | "form";
}

export interface Needed {
  cases?: number | null;
  attempts?: number | null;
}

export interface NoteRequest {
  labeler: string;
  attempts: ([number, number])[];
  name?: string;
  note?: string;
  step?: string;
  is_failure: boolean;
}

export interface OpenedRuns {
  runs: RunView[];
  change: number;
  comparisons?: ComparisonView[];
  problem?: string;
}

export interface OutcomeView {
  criterion: string;
  verdict: "failed" | "informational" | "not_applicable" | "passed" | "unscored";
  value?: number | null;
  threshold?: number | null;
  lower_is_better?: boolean;
  unit?: string;
  reason?: string;
  possible?: [number | null, number | null] | null;
  quotes?: Quote[];
  ballots?: string[];
  calls?: AlignedCall[];
  parts?: Score[];
  judge_stats?: JudgeStats | null;
  has_own_words?: boolean;
}

export interface PageView {
  runs: RunView[];
  cases: CaseRow[][];
  comparisons?: ComparisonView[];
  language?: string;
}

export interface PairAgreement {
  first: string;
  second: string;
  equal: number;
  pairs: number;
}

export interface Pairs {
  cases: number;
  attempts: [string, string];
  only_base?: string[];
  only_candidate?: string[];
  changed?: string[];
  ambiguous?: string[];
  clusters?: number | null;
}

export interface Part {
  mime_type?: string;
  uri?: string;
  data?: string;
  name?: string;
}

export interface PartKey {
  kind: "call" | "check" | "fact" | "invocation" | "message" | "question" | "rubric" | "sentence";
  index?: number | null;
  id?: string;
}

export interface PassK {
  k: number;
  cases: number;
  pass_hat: IntervalEstimate;
  pass_at: IntervalEstimate;
}

export interface PeopleAgreementView {
  criterion: string;
  labelers: string[];
  items: number;
  raw: Estimate;
  kappa: Estimate;
  alpha: Estimate;
  values?: number[];
  confusion?: number[][];
  part?: "call" | "check" | "fact" | "invocation" | "message" | "question" | "rubric" | "sentence" | null;
}

export interface PeopleView {
  labelers: string[];
  several?: number;
  equal?: number;
  alpha?: number | null;
}

export interface ProgressView {
  attempts: number;
  is_alive: boolean;
  resume: string;
  total?: number | null;
  rate?: number | null;
  seconds_left?: number | null;
  computing?: boolean;
}

export interface QueueRequest {
  criterion: string;
  by: "disagreement" | "failures" | "random" | "stratum" | "uncertain";
  sample: number;
  seed: number;
  part?: "call" | "check" | "fact" | "invocation" | "message" | "question" | "rubric" | "sentence" | null;
  overlap?: number;
  labelers: number;
  blind: boolean;
  answers?: Record<string, number>;
  question?: string;
}

export interface QueueView {
  number: number;
  criterion: string;
  by: "disagreement" | "failures" | "random" | "stratum" | "uncertain";
  sample: number;
  seed: number;
  blind: boolean;
  progress: LabelProgressView;
  part?: "call" | "check" | "fact" | "invocation" | "message" | "question" | "rubric" | "sentence" | null;
  overlap?: number;
  labelers: number;
  population?: number;
  question?: string;
  description?: string;
  answers?: Record<string, number>;
  graded?: boolean;
  range?: Range | null;
}

export interface Quote {
  text: string;
  source?: string;
}

export interface Range {
  low?: number | null;
  high: number | null;
  open_low?: boolean;
  open_high?: boolean;
  logarithmic?: boolean;
}

export interface Reply {
  text: string;
  model?: string;
  input_tokens?: number | null;
  output_tokens?: number | null;
  cost?: number | null;
  seconds?: number;
  attempts: number;
  stop?: string;
}

export interface RunChange {
  change: number;
  run: RunView;
  positions?: number[] | null;
}

export interface RunCriterion {
  criterion: string;
  mean: Estimate;
  pass_rate: Estimate;
  range: Range;
  unit?: string;
  threshold?: number | null;
}

export interface RunListView {
  runs: RunRow[];
  before?: string;
}

export interface RunRow {
  id: string;
  started: string;
  kind: string;
  verdict: "failed" | "informational" | "passed" | "unscored";
  counts: Record<string, number>;
  finished?: string | null;
  is_alive?: boolean;
  name?: string;
  tags?: string[];
  target?: string;
  suite?: string;
  case_verdicts?: Record<string, number>;
  criteria?: RunCriterion[];
}

export interface RunUsage {
  agent?: ModelUsage | null;
  judge?: ModelUsage | null;
  simulator?: ModelUsage | null;
  environment?: ModelUsage | null;
}

export interface RunView {
  view: number;
  id: string;
  started: string;
  version: string;
  kind: string;
  verdict: "failed" | "informational" | "passed" | "unscored";
  counts: Record<string, number>;
  invalid: Record<string, number>;
  criteria: CriterionView[];
  spending: RunUsage;
  config: Record<string, unknown>;
  signatures: Record<string, unknown>;
  command: string;
  cases: number;
  attempts: number;
  traces: "all" | "failed" | "none";
  finished?: string | null;
  seconds?: number | null;
  reasons?: string[];
  notes?: string[];
  pass_k?: PassK[];
  decision?: GateDecision | null;
  agents?: AgentView[];
  tools?: string[];
  clustered?: boolean;
  labelled?: number;
  name?: string;
  progress?: ProgressView | null;
  failures?: ModesView | null;
  attacks?: AttackReport | null;
  groups?: string[];
  skill_uses?: SkillUse[];
  limits?: string;
}

export interface Score {
  value?: number | null;
  reason?: string;
  label?: string;
  applicable: boolean;
  parts?: Score[];
  quotes?: Quote[];
  ballots?: string[];
  side?: "agent" | "environment" | "expectation" | "infrastructure" | "judge" | "simulator" | null;
  key?: PartKey | null;
  calls?: AlignedCall[];
  first?: FirstDecision | null;
  fact?: StatedFact | null;
}

export interface SentPrompt {
  system: string;
  text: string;
}

export interface SetupDifference {
  what: string;
  base: string;
  candidate: string;
}

export interface SkillUse {
  variant: string;
  target: string;
  counts: Record<string, number>;
}

export interface StatedFact {
  kind: string;
  state: "contradicted" | "forbidden" | "found" | "missing" | "undecided" | "ungrounded";
  value?: string;
  expected?: [number, number] | null;
  actual?: [number, number] | null;
}

export interface StepView {
  kind: "message" | "thought" | "tool_call" | "tool_result";
  text?: string;
  name?: string;
  author?: string;
  model?: string;
  args?: Record<string, unknown>;
  response?: unknown;
  is_error?: boolean;
  injected?: Injection[];
  approval?: Approval | null;
  parts?: Part[];
  started?: number | null;
  seconds?: number | null;
  withheld?: string;
  beginning?: string;
  inner?: StepView[];
}

export interface Usage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  reasoning_tokens?: number | null;
  cached_input_tokens?: number | null;
  model?: string;
  first_token?: number | null;
}

export interface Valid {
  n: number;
  mean: Estimate;
  pass_rate: Estimate;
}

export interface VoteResult {
  value?: number | null;
  applicable: boolean;
}

export interface VoteView {
  draw: number;
  voter: string;
  wave: number;
  opinions?: Record<string, JudgeAnswer>;
  problems?: Record<string, string>;
  calls?: JudgeCall[];
  replies?: (Reply | null)[];
}

export interface WindowRequest {
  labeler: string;
  window: string;
}
