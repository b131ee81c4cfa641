import pg from 'pg'

/**
 * Whether the URL names a pooler in transaction mode, such as PgBouncer: `postgres://…:6432/lading?pooler=transaction`. Each
 * transaction may then use another server connection. So a connection sends no settings at its start, prepares no named statements and does
 * not LISTEN. Source: https://www.pgbouncer.org/features.html and `ignore_startup_parameters` in https://www.pgbouncer.org/config.html
 */
export const isPooled = (url: string): boolean => URL.canParse(url) && new URL(url).searchParams.get('pooler') === 'transaction'

/** Returns the first of the URLs that reaches Postgres itself, so that a connection can LISTEN; null if there is none. */
export const findDirectUrl = (...urls: (string | undefined)[]): string | null => urls.find(url => url && !isPooled(url)) ?? null

/** Returns the value of `pooler` in the URL if we do not support it; null otherwise. */
export const findUnknownPooler = (url: string): string | null => {
  const mode = URL.canParse(url) ? new URL(url).searchParams.get('pooler') : null
  return mode === null || mode === 'transaction' ? null : mode
}

/** A client that sends no statement names: a later transaction may use a server connection that did not prepare the statement. */
export class UnnamedStatementClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: the base class has nine overloads
  override query(...[config, ...rest]: any[]): any {
    const query = super.query as (...args: unknown[]) => unknown
    return query.call(this, isNamed(config) ? {...config, name: undefined} : config, ...rest)
  }
}

const isNamed = (config: unknown): config is {name: string} => typeof config === 'object' && config !== null && 'name' in config
