import type {Tx} from '../../sql/database.ts'
import {lockRegistryVersion, raiseRegistryVersion} from '../../sql/registry.ts'
import {Refusal} from '../errors.ts'

/** The version on which a write is based. Null means no condition; the answer then names no version. */
export type Condition = number | null

/**
 * Parses `If-Match` of a write: a number, bare or quoted as a strong tag. `*` or no header means no condition. A weak tag, a list or any other
 * value is refused.
 */
export const readIfMatch = (header: string | undefined): Condition => {
  if (header === undefined || header === '*') return null
  const [, quoted, bare] = /^(?:"(\d+)"|(\d+))$/.exec(header) ?? []
  const version = quoted ?? bare
  if (version === undefined)
    throw new Refusal('BAD_IF_MATCH', 'If-Match must be the version that the change is based on, such as "7" or 7, or * for no condition')
  return Number(version)
}

/** Returns whether `If-None-Match` of a read contains this tag. The header may be a list, and weak tags match too. */
export const hasTag = (header: string | undefined, tag: string): boolean => {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some(sent => sent.trim().replace(/^W\//, '') === tag)
}

export const tagOf = (version: number) => `"${version}"`

/** Returns the ETag of `config/resolved`. `moves` is the number of changes in how libraries are managed, which create no version. */
export const tagOfRevision = ({version, moves}: {version: number; moves: number}) =>
  moves === 0 ? tagOf(version) : `"${version}.${moves}"`

/** Locks the org's version until the transaction ends, so that writers are serialised. Refuses a write that is based on another version. */
export const holdVersion = async (tx: Tx, org: string, condition: Condition = null): Promise<number> => {
  const version = await lockRegistryVersion(tx, org)
  if (version === null) throw new Refusal('NOT_FOUND', 'This org no longer exists')
  if (condition !== null && condition !== version)
    throw new Refusal('REGISTRY_CONFLICT', `The configuration has changed to version ${version}. Read it again, then repeat your change`, {
      registryVersion: version,
    })
  return version
}

const CONFLICTS = {
  template: 'TEMPLATE_CONFLICT',
  contract: 'CONTRACT_CONFLICT',
  schedule: 'SCHEDULE_CONFLICT',
  import: 'IMPORT_CONFLICT',
} as const

/** Refuses a write that is based on another version of an object. The caller has locked the object's row. */
export const assertVersion = (what: keyof typeof CONFLICTS, {version}: {version: number}, condition: Condition) => {
  if (condition !== null && condition !== version)
    throw new Refusal(CONFLICTS[what], `The ${what} has changed to version ${version}. Read it again, then repeat your change`, {version})
}

/** Raises the version, in the transaction that changes the answer of `config/resolved`. */
export const raiseVersion = (tx: Tx, org: string): Promise<number> => raiseRegistryVersion(tx, org)

/** The version in the answer to a write. `tag`: whether the answer has an ETag. */
export type VersionReply = {version: number; tag: boolean} | null

/**
 * Returns the version for the answer to a write, or null without a condition. If nothing changed, `made` is null, and the answer repeats the version
 * of the condition.
 */
export const logVersion = (condition: Condition, made: number | null): VersionReply =>
  condition === null ? null : {version: made ?? condition, tag: true}

/**
 * Returns the version for the answer to several transactions, of which only the first checked the condition. `made`: the versions of the
 * transactions. `now`: the present version. Returns null without a condition, or if another write came between the transactions. If another write
 * came after them, the answer has no ETag.
 */
export const logVersions = (condition: Condition, {made, now}: {made: readonly number[]; now: number}): VersionReply => {
  if (condition === null || made.some((version, at) => version !== condition + at + 1)) return null
  const version = condition + made.length
  return {version, tag: now === version}
}
