// Requests to the server of the viewer. What is read is what a schema describes, so that it is not checked again.

export class ServerProblem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export type Parameters = Readonly<Record<string, string | number>>;

function address(path: string, parameters: Parameters): string {
  const values = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== "") values.set(name, String(value));
  const query = values.toString();
  return query ? `${path}?${query}` : path;
}

export class Client {
  constructor(private readonly token: string) {}

  get<T>(path: string, parameters: Parameters = {}, signal: AbortSignal | null = null): Promise<T> {
    return this.request<T>(address(path, parameters), { headers: { accept: "application/json" }, signal });
  }

  /** Asks the server to change something. With `keepalive` the request outlives the page. */
  send<T>(method: "POST" | "DELETE", path: string, body: unknown, keepalive = false): Promise<T> {
    const headers = { "content-type": "application/json", "x-fairtrial-token": this.token };
    return this.request<T>(path, { method, headers, body: JSON.stringify(body), keepalive });
  }

  private async request<T>(path: string, options: RequestInit): Promise<T> {
    let response: Response;
    try {
      response = await fetch(path, options);
    } catch {
      throw new ServerProblem(0, "lost");
    }
    if (response.ok) return (await response.json()) as T;
    const text = await response.text();
    let problem = text;
    try {
      problem = (JSON.parse(text) as { problem?: string }).problem ?? text;
    } catch {
      // A refusal is plain text.
    }
    throw new ServerProblem(response.status, problem);
  }

  /** Calls back with each event, and with null when the server does not answer. Returns the end of it. */
  events<T>(path: string, parameters: () => Parameters, onEvent: (event: T | null) => void): () => void {
    let events: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const connect = () => {
      events = new EventSource(address(path, parameters()));
      events.onmessage = (message: MessageEvent<string>) => onEvent(JSON.parse(message.data) as T);
      // A new connection asks for what is new since the last event, which the browser's own would not do.
      events.onerror = () => {
        events?.close();
        onEvent(null);
        timer = setTimeout(connect, 1000);
      };
    };
    connect();
    return () => {
      clearTimeout(timer);
      events?.close();
    };
  }
}

export function run(id: string): string {
  return `/api/runs/${encodeURIComponent(id)}`;
}
