/** What a form holds of the place a schedule fetches its file from; every value a text, empty for none. */
export type SourceDraft = {
  kind: 'https' | 's3' | 'sftp'
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
}

type Shown = {kind: SourceDraft['kind']; credentials: string[]; [name: string]: unknown}

const blank: SourceDraft = {
  ...{kind: 'https', url: '', letIn: 'open', bearer: '', user: '', password: ''},
  ...{endpoint: '', region: 'eu-central-1', bucket: '', key: '', accessKeyId: '', secretAccessKey: ''},
  ...{host: '', port: '22', path: '', privateKey: '', passphrase: '', hostKey: ''},
}

/** From what the API tells of a source, which is everything but what lets one in. */
export const draftOf = (source: Shown | null): SourceDraft => {
  if (!source) return blank
  const {kind, credentials, ...open} = source
  const texts = Object.fromEntries(Object.entries(open).map(([name, value]) => [name, String(value ?? '')]))
  const letIn = credentials.includes('bearer') ? 'bearer' : credentials.includes('basic') ? 'basic' : 'open'
  return {...blank, ...texts, kind, letIn}
}

/**
 * What is sent. With `kept`, those of the credentials there are already: one that was left empty is left out and stays, and one of another way in
 * is taken away.
 */
export const sourceOf = (draft: SourceDraft, kept: readonly string[] = []): Record<string, unknown> => {
  if (draft.kind === 'https') return httpsOf(draft, kept)
  const given = <N extends keyof SourceDraft>(...names: N[]) =>
    Object.fromEntries(names.filter(name => draft[name] !== '').map(name => [name, draft[name]]))
  if (draft.kind === 's3') return {kind: 's3', ...given('endpoint', 'region', 'bucket', 'key', 'accessKeyId', 'secretAccessKey')}
  return {kind: 'sftp', port: Number(draft.port), ...given('host', 'user', 'path', 'hostKey', 'password', 'privateKey', 'passphrase')}
}

const httpsOf = ({url, letIn, bearer, user, password}: SourceDraft, kept: readonly string[]) => ({
  kind: 'https',
  url,
  ...(letIn === 'bearer' ? bearer !== '' && {bearer} : kept.includes('bearer') && {bearer: null}),
  ...(letIn === 'basic' ? user !== '' && {basic: {user, password}} : kept.includes('basic') && {basic: null}),
})
