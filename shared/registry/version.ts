import type {Tx} from '../../sql/database.ts'
import {lockRegistryVersion, raiseRegistryVersion} from '../../sql/registry.ts'
import {Refusal} from '../errors.ts'

/** The version a write was made against; null: it was made against none, and none is told of what it made. */
export type Condition = number | null

/**
 * `If-Match` of a write: a number, bare or quoted as a strong tag. `*` and no header are no condition. A weak tag, a list or anything
 * else is refused.
 */
export const readIfMatch = (header: string | undefined): Condition => {
  if (header === undefined || header === '*') return null
  const [, quoted, bare] = /^(?:"(\d+)"|(\d+))$/.exec(header) ?? []
  const version = quoted ?? bare
  if (version === undefined)
    throw new Refusal('BAD_IF_MATCH', 'If-Match takes the version the change was made against, as "7" or 7, or * for no condition')
  return Number(version)
}

/** `If-None-Match` of a read, which may be a list and compares weakly: whether the asker has the content of this tag. */
export const hasTag = (header: string | undefined, tag: string): boolean => {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some(sent => sent.trim().replace(/^W\//, '') === tag)
}

export const tagOf = (version: number) => `"${version}"`

/** The tag of `config/resolved`, whose libraries carry their management, which has no version. */
export const tagOfRevision = ({version, moves}: {version: number; moves: number}) =>
  moves === 0 ? tagOf(version) : `"${version}.${moves}"`

/** Holds the org's version to the end of the transaction, so that writers take turns, and refuses one made against another version. */
export const holdVersion = async (tx: Tx, org: string, condition: Condition = null): Promise<number> => {
  const version = await lockRegistryVersion(tx, org)
  if (version === null) throw new Refusal('NOT_FOUND', 'This org is gone')
  if (condition !== null && condition !== version)
    throw new Refusal('REGISTRY_CONFLICT', `The configuration is at version ${version} by now: read it again and decide anew`, {
      registryVersion: version,
    })
  return version
}

const CONFLICTS = {template: 'TEMPLATE_CONFLICT', schedule: 'SCHEDULE_CONFLICT', import: 'IMPORT_CONFLICT'} as const

/** The same for what has a version of its own, once its row is held. */
export const assertVersion = (what: keyof typeof CONFLICTS, {version}: {version: number}, condition: Condition) => {
  if (condition !== null && condition !== version)
    throw new Refusal(CONFLICTS[what], `The ${what} is at version ${version} by now: read it again and decide anew`, {version})
}

/** The next version, for whoever changed what `config/resolved` answers, in the transaction that changes it. */
export const raiseVersion = (tx: Tx, org: string): Promise<number> => raiseRegistryVersion(tx, org)

/** What a write tells of versions. `tag`: whether the answer carries an ETag. */
export type Told = {version: number; tag: boolean} | null

/** `made` is null where nothing was to be changed: then the version sent is told again. */
export const tellVersion = (condition: Condition, made: number | null): Told =>
  condition === null ? null : {version: made ?? condition, tag: true}

/**
 * Of several transactions, of which only the first waited on the version: where their own versions follow each other from the one sent,
 * the last of them; else somebody wrote between them, and nothing is told. A write after them withholds the tag alone.
 */
export const tellVersions = (condition: Condition, {made, now}: {made: readonly number[]; now: number}): Told => {
  if (condition === null || made.some((version, at) => version !== condition + at + 1)) return null
  const version = condition + made.length
  return {version, tag: now === version}
}
