// The rates of an attack run: utility, success, exposure, reports and over-defence, then the success by each property.
import { usePage } from "./context";
import { Estimate, IntervalPicture, Name } from "./marks";
import { Table } from "./table";
import type { AttackRate, AttackReport } from "./view";

const RATES = [
  ["utility", "utilityUnattacked"],
  ["utility_attacked", "utilityAttacked"],
  ["success", "attackSuccess"],
  ["exposure", "exposure"],
  ["reported", "reportedToUser"],
  ["over_defence", "overDefence"],
] as const;
const PROPERTIES = {
  attack: "byAttack",
  goal: "byGoal",
  place: "byPlace",
  tool: "byTool",
  language: "byLanguage",
} as const;

export function Attacks({ attacks }: { attacks: AttackReport | null | undefined }) {
  const { language } = usePage();
  if (!attacks) return null;
  return (
    <section aria-labelledby="attacks-title">
      <h2 id="attacks-title">{language.text("attackRates")}</h2>
      <Table
        name={{ titleId: "attacks-title" }}
        columns={[language.text("attackRates"), language.text("rate"), language.text("attempts")]}
        rows={RATES.map(([name, title]) => ({
          key: name,
          head: language.text(title),
          cells: cellsOf(attacks[name]),
        }))}
      />
      {attacks.undecided > 0 && <p class="note">{language.text("undecidedAttacks", { count: attacks.undecided })}</p>}
      {attacks.rows.length > 0 && (
        <details>
          <summary>{language.text("attackSuccess")}</summary>
          <Table
            name={{ label: language.text("attackSuccess") }}
            columns={[language.text("property"), language.text("rate"), language.text("attempts")]}
            rows={attacks.rows.map((row) => ({
              key: `${row.by} ${row.name}`,
              head: (
                <>
                  {language.text(PROPERTIES[row.by])} <Name text={row.name} />
                </>
              ),
              cells: cellsOf(row.success),
            }))}
          />
        </details>
      )}
    </section>
  );
}

function cellsOf(rate: AttackRate) {
  return [
    <div class="estimate-cell">
      <IntervalPicture estimate={rate.estimate} low={0} high={1} />
      <Estimate estimate={rate.estimate} percent />
    </div>,
    `${rate.hits} / ${rate.attempts}`,
  ];
}
