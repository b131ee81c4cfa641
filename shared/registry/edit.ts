import {listConnectors} from '../../sql/connectors.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {findPlan} from '../../sql/plans.ts'
import {countRefusal} from '../entitlements/refusal.ts'
import {Refusal} from '../errors.ts'
import {type Author, type Change, recordChanges} from './change.ts'
import {diffRegistry, type ValueChange} from './diff.ts'
import {type Registry, registryBytes} from './document.ts'
import {loadRegistry, storeRegistry} from './store.ts'
import {type Condition, holdVersion, raiseVersion, type Told, tellVersion} from './version.ts'

/** How a write is asked for. `proposedBy`: the person used a value that an AI proposed. */
export type Asked = {condition: Condition; proposedBy?: 'ai' | null | undefined}

type Edited = {
  registry: Registry
  /** Beside the registry: changes already made in this transaction that are to be told with it. */
  also?: Change[]
  /** The registry is replaced by a document whose author may not have known what it replaces: no change says what was before. */
  whole?: boolean
}

/**
 * The one way to change an org's registry. `edit` is handed what it is now and answers what it is to be; nobody else writes meanwhile. What
 * differs is stored, told in the history value by value, and makes one version together; where nothing differs nothing is made.
 */
export const editRegistry = async <E extends Edited>(
  db: Pool,
  author: Author,
  {condition, proposedBy = null}: Asked,
  edit: (registry: Registry, tx: Tx) => Promise<E> | E,
): Promise<E & {told: Told; made: number | null}> =>
  db.transaction(async tx => {
    await holdVersion(tx, author.org, condition)
    const before = await loadRegistry(tx, author.org)
    const edited = await edit(before, tx)
    const values = diffRegistry(before, edited.registry)
    const also = edited.also ?? []
    if (values.length + also.length === 0) return {...edited, made: null, told: tellVersion(condition, null)}
    // Whoever stops writing is not kept from it by a long description.
    if (values.some(({page}) => page !== 'writing')) assertFits(edited.registry)
    if (values.length > 0) await assertRoom(tx, author.org, before, edited.registry)
    const changes = await nameConnections(tx, author.org, values)
    await storeRegistry(tx, author.org, before, edited.registry)
    const made = await raiseVersion(tx, author.org)
    const known = edited.whole ? changes.map(change => ({...change, before: null})) : changes
    await recordChanges(
      tx,
      author,
      [...known, ...also].map(change => ({...change, proposedBy, registryVersion: made})),
    )
    return {...edited, made, told: tellVersion(condition, made)}
  })

const assertFits = (registry: Registry) => {
  const bytes = Buffer.byteLength(JSON.stringify(registry))
  if (bytes > registryBytes)
    throw new Refusal(
      'INVALID',
      `The configuration would be ${bytes} bytes: shorten descriptions or examples to at most ${registryBytes}`,
      {
        issues: [{code: 'too_big', path: [], message: `At most ${registryBytes} bytes`}],
      },
    )
}

/** Modules that are on already may stay on a plan with less room; none is added to them. */
const assertRoom = async (tx: Tx, org: string, before: Registry, after: Registry) => {
  const [used, wanted] = [enabledIn(before), enabledIn(after)]
  if (wanted <= used) return
  const {limits} = await findPlan(tx, org)
  if (wanted <= limits.modules) return
  const says = `The plan has room for ${limits.modules} enabled modules: disable one, or choose a plan with more`
  throw await countRefusal(tx, {org, code: 'LIMIT_MODULES', limit: 'modules', wanted, used, says})
}

const enabledIn = ({modules}: Registry) => modules.filter(({enabled}) => enabled).length

/** A change of a write pause is about the connection, by its name. */
const nameConnections = async (tx: Tx, org: string, values: ValueChange[]): Promise<Change[]> => {
  if (!values.some(({page}) => page === 'writing')) return values
  const names = new Map((await listConnectors(tx, org)).map(({id, name}) => [id, name]))
  return values.map(value => (value.page === 'writing' ? {...value, target: names.get(value.connectorId!) ?? null} : value))
}
