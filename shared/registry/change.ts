import {insertChanges, type NewChange, type Via} from '../../sql/changes.ts'
import type {Tx} from '../../sql/database.ts'
import {newId} from '../ids.ts'

/** Who changed it, and in which org. A member as the API knows them is one; so is `{org, via: 'schedule'}`. */
export type Author = {org: string; via: Via; person?: string | null; token?: string | null}

/**
 * What changed. `before` is null where it cannot be known, never a guess; `target` or `targetPerson` is absent for a setting of the
 * org. Member and connection changes make no version of the registry, and name none.
 */
export type Change = Pick<NewChange, 'page' | 'subject' | 'before' | 'after'> &
  Partial<Pick<NewChange, 'target' | 'targetPerson' | 'proposedBy' | 'registryVersion' | 'connectorId'>>

const isPerson = (via: Via) => via === 'session' || via === 'oauth'

/**
 * Writes changes into the settings history, in the transaction that makes them. The changes of one request are given together, and their
 * ids sort as they are given.
 */
export const recordChanges = async (tx: Tx, {org, via, person = null, token = null}: Author, changes: Change[]): Promise<void> => {
  if (changes.length === 0) return
  const author = {via, userId: isPerson(via) ? person : null, tokenId: via === 'token' ? token : null}
  const ids = changes.map(() => newId('chg')).sort()
  const blank = {target: null, targetPerson: null, proposedBy: null, registryVersion: null, connectorId: null}
  await insertChanges(
    tx,
    org,
    changes.map((change, at) => ({...blank, ...change, ...author, id: ids[at]!})),
  )
}
