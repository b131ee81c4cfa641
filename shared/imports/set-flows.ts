import {listConnectors} from '../../sql/connectors.ts'
import type {Pool, Tx} from '../../sql/database.ts'
import {setFlows} from '../../sql/imports.ts'
import type {Role} from '../accounts/roles.ts'
import {assertUnmapped, readIdempotencyFields} from '../configuration/idempotency-field.ts'
import {readModuleSettings} from '../configuration/import-settings.ts'
import {assertOwn} from '../configuration/name.ts'
import {assertVersion, type Condition} from '../configuration/version.ts'
import {Refusal} from '../errors.ts'
import {lockOpenImport} from '../files/sources/find.ts'
import {addFlowDefaults, type Flow, Flows, findIssues} from '../mapping/flows/flow.ts'
import {addModuleDefaults, excludedIssues} from '../mapping/flows/module-defaults.ts'
import {optionWarnings} from '../mapping/flows/write-options.ts'
import {assertModulesEnabled, listWrittenModules} from '../runs/admit-modules.ts'
import {assertMayDelete} from '../runs/confirm-deletes.ts'
import {type FlowSurroundings, findFlowData, findFlowTargets} from '../runs/start.ts'

type SetFlowsInput = {
  org: string
  importId: string
  flows: Flow[]
  condition: Condition
  role: Role
  /** Whether flows may write fields that the settings exclude. */
  force: boolean
}

/**
 * Replaces the flows of an import, after completing them with the settings of their modules. Throws INVALID with the issues if the flows do
 * not fit.
 */
export const replaceFlows = (db: Pool, {org, importId, flows: given, condition, role, force}: SetFlowsInput) =>
  db.transaction(async tx => {
    assertMayDelete(given, role)
    const found = await lockOpenImport(tx, {org, importId})
    assertVersion('import', found, condition)
    const {no, connectorId: connector} = found
    const known = await findFlowData(tx, {org, importNo: no, connector})
    const stored = Flows.safeParse(found.flows).data ?? []
    const flows = await completeFlows(tx, {org, connector, given, stored, known, force})
    const {version} = await setFlows(tx, {no, flows, state: 'ready'})
    return {flows, version, warnings: optionWarnings(flows, known.modules)}
  })

type CheckFlowsInput = {org: string; connectorId: string; flows: Flow[]; force: boolean}

/**
 * Checks and completes flows as `replaceFlows` does, but stores nothing. There is no import, so column names are not checked and default mappings of
 * fields are not added. The role for flows that delete is not checked either.
 */
export const checkFlows = (db: Pool, {org, connectorId, flows: given, force}: CheckFlowsInput) =>
  db.transaction(async tx => {
    assertOwn(await listConnectors(tx, org), connectorId)
    const targets = await findFlowTargets(tx, {org, connector: connectorId})
    const flows = await completeFlows(tx, {org, connector: connectorId, given, stored: [], known: {...targets, sources: null}, force})
    return {flows, warnings: optionWarnings(flows, targets.modules)}
  })

type CompleteFlowsInput = {
  org: string
  connector: string
  given: Flow[]
  stored: Flow[]
  known: Omit<FlowSurroundings, 'sources'> & {sources: FlowSurroundings['sources'] | null}
  force: boolean
}

const completeFlows = async (tx: Tx, {org, connector, given, stored, known, force}: CompleteFlowsInput): Promise<Flow[]> => {
  await assertModulesEnabled(tx, {org, connector, modules: listWrittenModules(given)})
  const settingsOf = await readModuleSettings(tx, {org, connector})
  const flows = addFlowDefaults(addModuleDefaults(given, stored, settingsOf, {...known, sources: known.sources ?? []}), known.modules)
  const issues = [...findIssues(flows, known), ...(force ? [] : excludedIssues(flows, stored, settingsOf))]
  if (issues.length) throw new Refusal('INVALID', 'The flows do not fit the files or the CRM. Correct the issues listed', {issues})
  assertUnmapped(flows, await readIdempotencyFields(tx, {org, connector}))
  return flows
}
