import type {Json} from '../http.ts'
import {EXIT} from './exit-codes.ts'
import {Failure, notThere, usage} from './failure.ts'
import {clean} from './phrases.ts'
import {askChoice, canAsk} from './questions.ts'
import type {Cli, Session} from './session.ts'

type ChooseModuleInput = {connectorId: string; named: string | undefined; files: readonly {name: string}[]}

/** Returns the module to write to, by its API name or label. If none is named, asks in a terminal and throws elsewhere. */
export const chooseModule = async (cli: Cli, session: Session, {connectorId, named, files}: ChooseModuleInput): Promise<Json> => {
  const modules = await readModules(session, connectorId)
  if (named !== undefined) return findModule(modules, named)
  if (!canAsk(cli))
    throw usage(
      'No template, flows or module given',
      'Add --module NAME, --template NAME (lading templates lists them) or --flow FILE.json',
    )
  const open = modules.filter(({enabled}) => enabled !== false)
  const likely = open.toSorted((a, b) => likeness(b, files) - likeness(a, files))
  return askChoice(
    cli,
    'Import into which module?',
    likely.map(module => ({value: module, label: nameOf(module)})),
    likely[0] && likeness(likely[0], files) >= 2,
  )
}

const readModules = async ({client, path}: Session, connectorId: string): Promise<Json[]> => {
  const {modules} = await client.get(path('config/modules'), {connector: connectorId})
  return modules.filter(({removed, creatable, kind}: Json) => !removed && creatable && kind !== 'subform')
}

const nameOf = ({apiName, label}: Json): string => (label && label !== apiName ? `${label} (${apiName})` : apiName)

const findModule = (modules: readonly Json[], named: string): Json => {
  const names = ({apiName, label, singular, crmSingular}: Json) => [apiName, label, singular, crmSingular]
  const found = modules.find(({apiName}) => apiName === named) ?? modules.find(one => names(one).some(name => fold(name) === fold(named)))
  if (!found) throw notThere(`Module not found: ${named}`, `Modules: ${modules.map(nameOf).map(clean).join(', ')}`, 'MODULE_NOT_FOUND')
  if (found.enabled !== false) return found
  throw new Failure(`The module ${named} is disabled for imports`, {
    exit: EXIT.refused,
    code: 'MODULE_DISABLED',
    next: 'An admin can enable it in the settings of the modules',
  })
}

const likeness = ({apiName, label, crmSingular, enabled}: Json, files: readonly {name: string}[]): number => {
  const isNamed = [apiName, label, crmSingular].some(name => name && files.some(file => fold(file.name).includes(fold(name))))
  return (isNamed ? 2 : 0) + (enabled ? 1 : 0)
}

const fold = (text: string | null | undefined) => (text ?? '').trim().toLowerCase()
