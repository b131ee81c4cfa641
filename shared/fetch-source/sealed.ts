import {Refusal} from '../errors.ts'
import {type KeyRing, open, seal} from '../secrets.ts'
import {blankText} from './placeholders.ts'
import {FileSource, type SourceChange} from './source.ts'

/** What lets one in, per kind. Everything else of a source may be shown to whoever may see the schedule. */
const credentials = {
  https: ['query', 'headers', 'basic', 'bearer'],
  s3: ['secretAccessKey'],
  sftp: ['password', 'privateKey', 'passphrase'],
} as const

type Fields = Record<string, unknown>

/** `credentials` names those that are kept, without their values. */
export type Described = {kind: FileSource['kind']; credentials: string[]} & Fields

export const describeSource = (source: FileSource): Described => {
  const {shown, secret} = split(source)
  return {...shown, kind: source.kind, credentials: credentials[source.kind].filter(name => name in secret)}
}

/** `open` is the description, for a jsonb column; `sealed` the credentials, null where there are none. */
export type SealedSource = {open: Described; sealed: string | null}

/** `aad` is where they belong (the schedule's id): elsewhere they do not open. */
export const sealSource = (ring: KeyRing, source: FileSource, aad: string): SealedSource => {
  const {secret} = split(source)
  return {open: describeSource(source), sealed: Object.keys(secret).length ? seal(ring, JSON.stringify(secret), aad) : null}
}

/** Throws as `open` of secrets does. */
export const openSource = (ring: KeyRing, {open: described, sealed}: {open: unknown; sealed: string | null}, aad: string): FileSource => {
  const {credentials: _, ...shown} = described as Described
  return FileSource.parse({...shown, ...(sealed !== null && JSON.parse(open(ring, sealed, aad)))})
}

/**
 * A credential that is not sent stays, null takes it away, another way of signing in replaces the old one. What is kept is kept for the
 * place and the user it was given for: otherwise it could be sent on to where one reads it. Throws Refusal.
 */
export const mergeCredentials = (old: FileSource, change: SourceChange): FileSource => {
  const kept = unsaidOf(describeSource(old), change)
  if (kept.length && !isSamePlace(old, change))
    throw invalid(
      kept.map(name => ({path: [name], message: 'It was given for another place or user: give it again, or null to go without'})),
    )
  return whole({...change, ...Object.fromEntries(kept.map(name => [name, (old as Fields)[name]]))})
}

/** The same where no key opens the old ones any more: of those none is kept, and none lost in silence. */
export const replaceLost = (lost: Described, change: SourceChange): FileSource => {
  const unsaid = unsaidOf(lost, change)
  if (unsaid.length)
    throw invalid(unsaid.map(name => ({path: [name], message: 'No key opens it any more: give it again, or null to go without'})))
  return whole(change)
}

const whole = (given: Fields): FileSource => {
  const parsed = FileSource.safeParse(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)))
  if (parsed.success) return parsed.data
  throw invalid(parsed.error.issues.map(({path, message}) => ({path, message})))
}

/** Of those one signs in by one is used, so a new one takes the place of all. */
const waysIn = ['basic', 'bearer', 'password', 'privateKey', 'passphrase']

/** What there is and a change says nothing of. */
const unsaidOf = ({kind, credentials: names}: Described, change: SourceChange): string[] => {
  const given: Fields = change
  if (kind !== change.kind) return []
  const isReplaced = waysIn.some(name => given[name] !== undefined && given[name] !== null)
  return names.filter(name => given[name] === undefined && !(isReplaced && waysIn.includes(name)))
}

const isSamePlace = (old: FileSource, change: SourceChange): boolean => JSON.stringify(placeOf(old)) === JSON.stringify(placeOf(change))

/**
 * Over https a credential is told to whoever answers, and one host has many tenants: its place is the whole path, whatever dates stand in it.
 * A bucket's key is never told, and a password over SSH only to the host whose key is named.
 */
const placeOf = (source: FileSource | SourceChange) => {
  if (source.kind === 'https') return new URL(blankText(source.url)).href
  if (source.kind === 's3') return [source.endpoint, source.region, source.accessKeyId]
  return [source.host.toLowerCase(), source.port, source.user, source.hostKey]
}

const split = (source: FileSource) => {
  const names: readonly string[] = credentials[source.kind]
  const {true: secret = [], false: shown = []} = Object.groupBy(Object.entries(source), ([name]) => `${names.includes(name)}`)
  return {shown: fields(shown), secret: fields(secret.filter(([, value]) => value !== undefined))}
}

const fields = (entries: [string, unknown][]): Fields => Object.fromEntries(entries)

const invalid = (issues: {path: PropertyKey[]; message: string}[]) =>
  new Refusal('INVALID', 'This source cannot be used as it was given', {issues})
