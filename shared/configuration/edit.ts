import {listConnectors} from '../../sql/connectors.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {listImportedModules} from '../../sql/imported-modules.ts'
import {findPlan} from '../../sql/plans.ts'
import {impersonationRefused} from '../accounts/impersonation.ts'
import {countRefusal} from '../billing/entitlements/refusal.ts'
import {Refusal} from '../errors.ts'
import {type Author, type Change, recordChanges} from './change.ts'
import {diffRegistry, type ValueChange} from './diff.ts'
import {type Registry, registryBytes} from './document.ts'
import {assertIdempotencyFields} from './idempotency-field.ts'
import {loadRegistry, storeRegistry} from './store.ts'
import {type Condition, holdVersion, logVersion, raiseVersion, type VersionReply} from './version.ts'

/** The condition of a write. `proposedBy`: `ai` if the person accepted a value that an AI proposed. */
export type RegistryEditInput = {condition: Condition; proposedBy?: 'ai' | null | undefined}

type EditResult = {
  registry: Registry
  /** Further changes already made in this transaction, which are recorded together with the registry. */
  also?: Change[]
  /** True if a document replaces the whole registry. The author may not know the earlier registry, so the changes have `before: null`. */
  whole?: boolean
  /** Names of shared templates that the author replaces next, by flows that map no idempotency field. */
  replaced?: string[]
}

/**
 * Edits an org's registry. No other code changes a registry. `edit` receives the current registry under a lock and returns the new one. All
 * differences are stored, recorded in the history one by one, and create one version together (`made`). Without a difference and without `also`,
 * nothing is stored and `made` is null. Also returns what `edit` returned. Refuses a change of `embedOrigins` in a staff view.
 */
export const editRegistry = async <E extends EditResult>(
  db: Pool,
  author: Author,
  {condition, proposedBy = null}: RegistryEditInput,
  edit: (registry: Registry, tx: Tx) => Promise<E> | E,
): Promise<E & {versionReply: VersionReply; made: number | null}> =>
  db.transaction(async tx => {
    await holdVersion(tx, author.org, condition)
    const before = await loadRegistry(tx, author.org)
    const edited = await edit(before, tx)
    const values = diffRegistry(before, edited.registry)
    const also = edited.also ?? []
    // An origin that a staff view adds would still embed imports after the view has ended.
    if (author.staffView && values.some(({subject}) => subject === 'settings.embedOrigins')) throw impersonationRefused()
    if (values.length + also.length === 0) return {...edited, made: null, versionReply: logVersion(condition, null)}
    // A change that only pauses writing must succeed even if the registry is too large.
    if (values.some(({page}) => page !== 'writing')) assertFits(edited.registry)
    await assertIdempotencyFields(tx, author.org, {before, after: edited.registry, replaced: edited.replaced})
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
    return {...edited, made, versionReply: logVersion(condition, made)}
  })

const assertFits = (registry: Registry) => {
  const bytes = Buffer.byteLength(JSON.stringify(registry))
  if (bytes > registryBytes)
    throw new Refusal(
      'INVALID',
      `The configuration would be ${bytes} bytes. Shorten descriptions or examples to at most ${registryBytes} bytes`,
      {
        issues: [{code: 'too_big', path: [], message: `At most ${registryBytes} bytes`}],
      },
    )
}

/**
 * Throws LIMIT_MODULES if the edit raises the number of counted modules above the limit of the plan. A module is counted if it is enabled, or if it
 * was imported into and is not disabled.
 */
const assertRoom = async (tx: Tx, org: string, before: Registry, after: Registry) => {
  const imported = await listImportedModules(tx, org)
  const [used, wanted] = [countCounted(before, imported), countCounted(after, imported)]
  if (wanted <= used) return
  const {limits} = await findPlan(tx, org)
  if (wanted <= limits.modules) return
  const says = `The plan allows ${limits.modules} enabled module${limits.modules === 1 ? '' : 's'}. Disable one, or choose a plan with more`
  throw await countRefusal(tx, {org, code: 'LIMIT_MODULES', limit: 'modules', wanted, used, says})
}

type ModuleName = {connectorId: string; apiName: string}

const countCounted = ({modules}: Registry, imported: readonly ModuleName[]): number => {
  const nameOf = ({connectorId, apiName}: ModuleName) => `${connectorId} ${apiName}`
  const disabled = new Set(modules.filter(({enabled}) => enabled === false).map(nameOf))
  const enabled = modules.filter(one => one.enabled).map(nameOf)
  return new Set([...enabled, ...imported.map(nameOf).filter(name => !disabled.has(name))]).size
}

const nameConnections = async (tx: Tx, org: string, values: ValueChange[]): Promise<Change[]> => {
  if (!values.some(({page}) => page === 'writing')) return values
  const names = new Map((await listConnectors(tx, org)).map(({id, name}) => [id, name]))
  return values.map(value => (value.page === 'writing' ? {...value, target: names.get(value.connectorId!) ?? null} : value))
}
