// Which skill the attempts used, for each skill that their queries should trigger: a table for each variant.
import { usePage } from "./context";
import type { Language } from "./i18n";
import { Name } from "./marks";
import { Table } from "./table";
import type { SkillUse } from "./view";
import { visibleLine } from "./visible";

const MOST_COLUMNS = 7;
const MOST_ROWS = 20;
const PRESENT = "with";

export function SkillUses({ uses }: { uses: readonly SkillUse[] | undefined }) {
  const { language } = usePage();
  if (!uses?.length) return null;
  return (
    <section aria-labelledby="skill-uses-title">
      <h2 id="skill-uses-title">{language.text("skillUses")}</h2>
      {[...new Set(uses.map((use) => use.variant))].map((variant) => (
        <Uses key={variant} variant={variant} uses={uses.filter((use) => use.variant === variant)} />
      ))}
    </section>
  );
}

function Uses({ variant, uses }: { variant: string; uses: readonly SkillUse[] }) {
  const { language } = usePage();
  const { names, hasRest } = columnsOf(uses);
  return (
    <Table
      name={variant === PRESENT ? { titleId: "skill-uses-title" } : { label: `${language.text("skillUses")}: ${variant}` }}
      caption={variant === PRESENT ? undefined : visibleLine(variant)}
      columns={[
        language.text("shouldUseUsed"),
        ...names.map((name) => visibleLine(name) || language.text("noSkill")),
        ...(hasRest ? [language.text("otherSkills")] : []),
      ]}
      rows={uses.slice(0, MOST_ROWS).map((use) => ({
        key: use.target,
        head: use.target ? <Name text={use.target} /> : language.text("noSkill"),
        cells: cellsOf(use, names, hasRest, language),
      }))}
    />
  );
}

/** Returns the skills of the rows in their order, then others, and last no skill. `hasRest` says that some are left. */
export function columnsOf(uses: readonly SkillUse[]): { names: readonly string[]; hasRest: boolean } {
  const all = new Set([...uses.map((use) => use.target), ...uses.flatMap((use) => Object.keys(use.counts))]);
  const named = [...all].filter(Boolean);
  return { names: [...named.slice(0, MOST_COLUMNS), ""], hasRest: named.length > MOST_COLUMNS };
}

function cellsOf({ counts }: SkillUse, names: readonly string[], hasRest: boolean, language: Language) {
  const own = new Map(Object.entries(counts));
  const numbers = names.map((name) => own.get(name) ?? 0);
  const total = [...own.values()].reduce((sum, number) => sum + number, 0);
  if (hasRest) numbers.push(numbers.reduce((rest, number) => rest - number, total));
  return numbers.map((number) => (number ? language.count(number) : "–"));
}
