// How a run was made: the command that repeats it, its configuration, its signatures, its agents.
import { usePage } from "./context";
import { Name } from "./marks";
import { Foreign, Json } from "./text";

export function Setup() {
  const { run, language, source } = usePage();
  const downloads = source.downloads(run.id);
  return (
    <article class="setup-page">
      <h1>{language.text("setup")}</h1>
      <dl class="facts">
        <div>
          <dt>{language.text("run")}</dt>
          <dd>
            <code>{run.id}</code>
          </dd>
        </div>
        <div>
          <dt>{language.text("version")}</dt>
          <dd>fairtrial {run.version}</dd>
        </div>
        <div>
          <dt>{language.text("started")}</dt>
          <dd>{language.date(run.started)}</dd>
        </div>
      </dl>
      {run.command && (
        <>
          <h2>{language.text("repeat")}</h2>
          <Foreign class="code" text={run.command} />
        </>
      )}
      {downloads.length > 0 && (
        <>
          <h2>{language.text("download")}</h2>
          <p class="downloads">
            {downloads.map(([name, address]) => (
              <a key={name} class="button" href={address} download lang="en">
                {name}
              </a>
            ))}
          </p>
        </>
      )}
      <h2>{language.text("configuration")}</h2>
      <Json value={run.config} />
      <h2>{language.text("signatures")}</h2>
      {Object.entries(run.signatures).map(([name, signature]) => (
        <details key={name}>
          <summary>
            <Name text={name} />
          </summary>
          <Json value={signature} />
        </details>
      ))}
      {(run.agents ?? []).length > 0 && <h2>{language.text("agents")}</h2>}
      {(run.agents ?? []).map((agent, index) => (
        <details key={index}>
          <summary>
            <Name text={agent.name || language.text("agent")} />
          </summary>
          {agent.instructions && <Foreign text={agent.instructions} />}
          {(agent.tools ?? []).length > 0 && <Json value={agent.tools} />}
        </details>
      ))}
    </article>
  );
}
