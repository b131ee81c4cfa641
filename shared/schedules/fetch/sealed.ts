import {Refusal} from '../../errors.ts'
import {type KeyRing, open, seal} from '../../security/secrets.ts'
import {blankText} from './placeholders.ts'
import {FileSource, type SourceChange} from './source.ts'

/** The credentials of each kind of source. All other fields may be shown to everyone who may see the schedule. */
const credentials = {
  https: ['query', 'headers', 'basic', 'bearer'],
  s3: ['secretAccessKey'],
  sftp: ['password', 'privateKey', 'passphrase'],
  postgres: ['password'],
  mysql: ['password'],
} as const

type Fields = Record<string, unknown>

/** A source without secrets. `credentials`: the names of the stored credentials, without their values. */
export type DescribedSource = {kind: FileSource['kind']; credentials: string[]} & Fields

export const describeSource = (source: FileSource): DescribedSource => {
  const {shown, secret} = split(source)
  return {...shown, kind: source.kind, credentials: credentials[source.kind].filter(name => name in secret)}
}

/** A source as stored. `open`: the description, for a jsonb column. `sealed`: the encrypted credentials; null if there are none. */
export type SealedSource = {open: DescribedSource; sealed: string | null}

/** `aad`: the schedule's id, without which the credentials cannot be decrypted. */
export const sealSource = (ring: KeyRing, source: FileSource, aad: string): SealedSource => {
  const {secret} = split(source)
  return {open: describeSource(source), sealed: Object.keys(secret).length ? seal(ring, JSON.stringify(secret), aad) : null}
}

/** Throws the same errors as `open` in `security/secrets.ts`. */
export const openSource = (ring: KeyRing, {open: described, sealed}: {open: unknown; sealed: string | null}, aad: string): FileSource => {
  const {credentials: _, ...shown} = described as DescribedSource
  return FileSource.parse({...shown, ...(sealed !== null && JSON.parse(open(ring, sealed, aad)))})
}

/**
 * Merges a change with the stored credentials, unless the kind of the source changes. A credential that the change omits is kept, and null removes
 * it. A new credential of `waysIn`, except a passphrase, replaces all stored ones of `waysIn`. Throws INVALID if a credential would be kept although
 * target or user differs, because it could be sent to another server.
 */
export const mergeCredentials = (old: FileSource, change: SourceChange): FileSource => {
  const kept = unsaidOf(describeSource(old), change)
  if (kept.length && !isSamePlace(old, change))
    throw invalid(
      kept.map(name => ({
        path: [name],
        message: 'This credential was stored for another place or user. Send it again, or null to remove it',
      })),
    )
  return whole({...change, ...Object.fromEntries(kept.map(name => [name, (old as Fields)[name]]))})
}

/**
 * Applies a change to a source whose credentials can no longer be decrypted. If the kind stays, the change must replace each stored credential or
 * remove it by null. A new credential of `waysIn` replaces all stored ones of `waysIn`, but a new passphrase only the old passphrase. Otherwise
 * throws INVALID, so that no credential is lost silently.
 */
export const replaceLost = (lost: DescribedSource, change: SourceChange): FileSource => {
  const unsaid = unsaidOf(lost, change)
  if (unsaid.length)
    throw invalid(
      unsaid.map(name => ({path: [name], message: 'This credential can no longer be decrypted. Send it again, or null to remove it'})),
    )
  return whole(change)
}

const whole = (fields: Fields): FileSource => {
  const parsed = FileSource.safeParse(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)))
  if (parsed.success) return parsed.data
  throw invalid(parsed.error.issues.map(({path, message}) => ({path, message})))
}

/**
 * The alternative credentials for the authentication at a source, with the passphrase of a private key. A change that sets any except `passphrase`
 * discards all stored ones. A new `passphrase` replaces only the old one.
 */
const waysIn = ['basic', 'bearer', 'password', 'privateKey', 'passphrase']

/** Returns the names of stored credentials that a change neither mentions nor replaces; none if the kind of the source changes. */
const unsaidOf = ({kind, credentials: names}: DescribedSource, change: SourceChange): string[] => {
  const fields: Fields = change
  if (kind !== change.kind) return []
  const isReplaced = waysIn.some(name => name !== 'passphrase' && fields[name] !== undefined && fields[name] !== null)
  return names.filter(name => fields[name] === undefined && !(isReplaced && waysIn.includes(name)))
}

const isSamePlace = (old: FileSource, change: SourceChange): boolean => JSON.stringify(placeOf(old)) === JSON.stringify(placeOf(change))

/**
 * Returns the target to which stored credentials may be sent. Over https, this is the whole URL without its dates, because one host may have many
 * tenants. A bucket's secret key is never sent, so the bucket may change. A password over SSH is sent only to the host with the named key. For a
 * database, the encryption must stay the same too.
 */
const placeOf = (source: FileSource | SourceChange) => {
  if (source.kind === 'https') return new URL(blankText(source.url)).href
  if (source.kind === 's3') return [source.endpoint, source.region, source.accessKeyId]
  const {host, port, user} = source
  return [host.toLowerCase(), port, user, ...(source.kind === 'sftp' ? [source.hostKey] : [source.database, source.tls, source.ca])]
}

const split = (source: FileSource) => {
  const names: readonly string[] = credentials[source.kind]
  const {true: secret = [], false: shown = []} = Object.groupBy(Object.entries(source), ([name]) => `${names.includes(name)}`)
  return {shown: fields(shown), secret: fields(secret.filter(([, value]) => value !== undefined))}
}

const fields = (entries: [string, unknown][]): Fields => Object.fromEntries(entries)

const invalid = (issues: {path: PropertyKey[]; message: string}[]) =>
  new Refusal('INVALID', 'This source is invalid. Correct the listed fields', {issues})
