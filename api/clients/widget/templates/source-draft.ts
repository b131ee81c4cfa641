/**
 * The typed values of the source from which a schedule fetches its file. An empty text means no value. `removed`: the stored credentials to remove
 * that the form cannot show.
 */
export type SourceDraft = {
  kind: 'https' | 's3' | 'sftp' | 'postgres' | 'mysql'
  url: string
  letIn: 'open' | 'bearer' | 'basic'
  bearer: string
  user: string
  password: string
  endpoint: string
  region: string
  bucket: string
  key: string
  accessKeyId: string
  secretAccessKey: string
  host: string
  port: string
  path: string
  privateKey: string
  passphrase: string
  hostKey: string
  database: string
  query: string
  tls: string
  ca: string
  removed: readonly string[]
}

export const usualPorts: Record<string, string> = {sftp: '22', postgres: '5432', mysql: '3306'}

export type ShownSource = {kind: SourceDraft['kind']; credentials: string[]; [name: string]: unknown}

const blank: SourceDraft = {
  kind: 'https',
  url: '',
  letIn: 'open',
  bearer: '',
  user: '',
  password: '',
  endpoint: '',
  region: 'eu-central-1',
  bucket: '',
  key: '',
  accessKeyId: '',
  secretAccessKey: '',
  host: '',
  port: '22',
  path: '',
  privateKey: '',
  passphrase: '',
  hostKey: '',
  database: '',
  query: '',
  tls: 'true',
  ca: '',
  removed: [],
}

/** Converts a source from the API to typed values. The API returns the names of stored credentials, but not their values. */
export const draftOf = (source: ShownSource | null): SourceDraft => {
  if (!source) return blank
  const {kind, credentials, ...open} = source
  const texts = Object.fromEntries(Object.entries(open).map(([name, value]) => [name, String(value ?? '')]))
  const letIn = credentials.includes('bearer') ? 'bearer' : credentials.includes('basic') ? 'basic' : 'open'
  return {...blank, ...texts, kind, letIn}
}

/**
 * Converts typed values to a request. `stored`: the saved source; null if there is none. An empty credential is omitted, so the stored one stays. For
 * https, a stored credential of another sign-in method is removed. The form does not show `pathStyle`, so it stays while the endpoint stays.
 */
export const toSourceRequest = (draft: SourceDraft, stored: ShownSource | null = null): Record<string, unknown> => {
  if (draft.kind === 'https') return httpsOf(draft, stored)
  const given = <N extends keyof SourceDraft>(...names: N[]) =>
    Object.fromEntries(names.filter(name => draft[name] !== '').map(name => [name, draft[name]]))
  if (draft.kind === 's3') {
    const isSameStore = stored?.pathStyle !== undefined && (stored.endpoint ?? '') === draft.endpoint
    const open = {kind: 's3', ...(isSameStore && {pathStyle: stored.pathStyle})}
    return {...open, ...given('endpoint', 'region', 'bucket', 'key', 'accessKeyId', 'secretAccessKey')}
  }
  if (draft.kind === 'postgres' || draft.kind === 'mysql') {
    const open = {kind: draft.kind, port: Number(draft.port), tls: draft.tls === 'true'}
    return {...open, ...given('host', 'database', 'user', 'query', 'password'), ...(open.tls && given('ca'))}
  }
  return {kind: 'sftp', port: Number(draft.port), ...given('host', 'user', 'path', 'hostKey', 'password', 'privateKey', 'passphrase')}
}

/** Returns the URL without its date placeholders. Two URLs that differ only in dates or in spelling are the same place to the API. */
const placeOf = (url: unknown): string => {
  const text = String(url).replaceAll(/\{date[^{}]*\}/g, '{date}')
  return URL.canParse(text) ? new URL(text).href : text
}

/**
 * Removes the stored query and headers if a person chose so, or if the URL changes, because the API accepts neither for another place. A query in the
 * new URL replaces the stored one. The headers stay if only the query is new.
 */
const httpsOf = ({url, letIn, bearer, user, password, removed}: SourceDraft, stored: ShownSource | null) => {
  const kept = stored?.credentials ?? []
  const [typed, saved] = [placeOf(url), placeOf(stored?.url)]
  const isSamePath = typed.replace(/[?#].*/, '') === saved
  const hidden = [...removed, ...(typed === saved ? [] : ['query']), ...(isSamePath ? [] : ['headers'])].filter(name => kept.includes(name))
  return {
    kind: 'https',
    url,
    ...Object.fromEntries(hidden.map(name => [name, null])),
    ...(letIn === 'bearer' ? bearer !== '' && {bearer} : kept.includes('bearer') && {bearer: null}),
    ...(letIn === 'basic' ? (user !== '' || password !== '') && {basic: {user, password}} : kept.includes('basic') && {basic: null}),
  }
}
