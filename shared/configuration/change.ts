import {insertChanges, type NewConfigurationChange, type Via} from '../../sql/changes.ts'
import type {Tx} from '../../sql/database.ts'
import {newId} from '../ids.ts'

/**
 * The org and the author of a change. `via`: how the change was made. A change without a member, such as one by a schedule, has no `person` and
 * no `token`. `staffView`: set while a staff member views the org.
 */
export type Author = {org: string; via: Via; person?: string | null; token?: string | null; staffView?: object | null}

/**
 * A change. `before` is null if there was no earlier value, or if it is unknown. `target` and `targetPerson` are absent for a setting of the
 * org. Changes of members and connections create no version of the registry and have no `registryVersion`.
 */
export type Change = Pick<NewConfigurationChange, 'page' | 'subject' | 'before' | 'after'> &
  Partial<Pick<NewConfigurationChange, 'target' | 'targetPerson' | 'proposedBy' | 'registryVersion' | 'connectorId'>>

/** An embed token that a session created has no API token, and acts for the person who created it. */
const isPerson = (via: Via, token: string | null) => via === 'session' || via === 'oauth' || (via === 'token' && token === null)

/**
 * Stores changes in the settings history, in the transaction that makes them. Pass all changes of one request together, so that their ids sort
 * in the given order.
 */
export const recordChanges = async (tx: Tx, {org, via, person = null, token = null}: Author, changes: Change[]): Promise<void> => {
  if (changes.length === 0) return
  const author = {via, userId: isPerson(via, token) ? person : null, tokenId: via === 'token' ? token : null}
  const ids = changes.map(() => newId('chg')).sort()
  const blank = {target: null, targetPerson: null, proposedBy: null, registryVersion: null, connectorId: null}
  await insertChanges(
    tx,
    org,
    changes.map((change, at) => ({...blank, ...change, ...author, id: ids[at]!})),
  )
}
