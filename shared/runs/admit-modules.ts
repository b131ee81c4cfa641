import type {Db, Tx} from '../../sql/database.ts'
import {keepImportedModules, listModuleStates} from '../../sql/imported-modules.ts'
import {findPlan} from '../../sql/plans.ts'
import {lockRegistryVersion} from '../../sql/registry.ts'
import {countUsed} from '../../sql/usage.ts'
import {countRefusal} from '../billing/entitlements/refusal.ts'
import {Refusal} from '../errors.ts'
import type {Flow} from '../mapping/flows/flow.ts'

type ModulesOfConnector = {org: string; connector: string; modules: readonly string[]}

/** Leaves out subform flows, because their rows belong to the module of their parents. */
export const listWrittenModules = (flows: readonly Pick<Flow, 'module' | 'subform'>[]): string[] => [
  ...new Set(flows.filter(({subform}) => !subform).map(({module}) => module)),
]

/**
 * Admits a run that writes these modules, in the transaction that starts the run. Throws MODULE_DISABLED for disabled modules. Except in a dry run,
 * each module that is neither enabled nor was imported into before uses one of the modules that the plan allows. Throws LIMIT_MODULES if the plan
 * allows too few.
 */
export const admitModules = async (tx: Tx, {dryRun, ...of}: ModulesOfConnector & {dryRun: boolean}): Promise<void> => {
  const fresh = (await assertModulesEnabled(tx, of)).filter(({enabled, imported}) => !enabled && !imported)
  if (dryRun || fresh.length === 0) return
  await lockRegistryVersion(tx, of.org)
  const [{limits}, {modules: used}] = [await findPlan(tx, of.org), await countUsed(tx, of.org)]
  const wanted = used + fresh.length
  if (wanted > limits.modules) {
    const names = fresh.map(({apiName}) => apiName).join(', ')
    const says = `The plan allows ${limits.modules} module${limits.modules === 1 ? '' : 's'}, and ${used} are enabled or were imported into. There is no room for ${names}. Disable a module, or choose a plan with more`
    throw await countRefusal(tx, {org: of.org, code: 'LIMIT_MODULES', limit: 'modules', wanted, used, says})
  }
  await keepImportedModules(tx, {...of, modules: fresh.map(({apiName}) => apiName)})
}

/** Throws MODULE_DISABLED for modules that an administrator disabled. A module that no administrator enabled or disabled is allowed. */
export const assertModulesEnabled = async (db: Db, of: ModulesOfConnector) => {
  const states = await listModuleStates(db, of)
  const disabled = states.filter(one => one.disabled).map(({apiName}) => apiName)
  if (disabled.length > 0) throw moduleDisabled(disabled)
  return states
}

const moduleDisabled = (modules: string[]) =>
  new Refusal(
    'MODULE_DISABLED',
    `An administrator disabled imports into ${modules.join(', ')}. Enable the module under Settings, Modules, or remove its flow`,
    {written: false},
  )
