import type {Json} from '../http.ts'
import {chooseModule} from './choose-module.ts'
import type {DateOrder} from './date-orders.ts'
import {assertStated, type Existing} from './existing-records.ts'
import {usage} from './failure.ts'
import {findConnection, findTemplate} from './find.ts'
import {bindFlows, fillSlots, type LocalFile, readFlows, readInputs} from './inputs.ts'
import {clean} from './phrases.ts'
import type {Cli, Session} from './session.ts'

export type PlanInput = Existing & {
  files: string[]
  template?: string
  flow?: string
  module?: string
  connection?: string
  name?: string
  dates?: DateOrder
}

/**
 * What to import. `flows`: the flows of --flow. `target`: the module for which a flow is proposed. If both are null, a template provides
 * the flows. `slots`: whether the files fill template slots. `version`: the version of the template. `body`: the request that creates the import.
 */
export type ImportPlan = {
  files: LocalFile[]
  flows: Json[] | null
  target: {module: Json; connectorId: string} | null
  slots: boolean
  version?: number
  body: {name?: string; templateId?: string; connectorId?: string}
}

/** Plans the import, and checks before the upload everything that can be checked without the files on the server. */
export const planImport = async (cli: Cli, session: Session, input: PlanInput): Promise<ImportPlan> => {
  const {template, flow, module} = input
  if ([template, flow, module].filter(one => one !== undefined).length > 1) throw usage('Use only one of --template, --flow and --module')
  const files = await readInputs(input.files)
  const name = input.name ?? nameOf(files)
  if (template !== undefined) return planTemplate(session, {...input, template, files, name})
  const connectorId = (await chooseConnection(session, input.connection)).id
  const plan = {files, slots: false, body: {name, connectorId}}
  if (flow === undefined) return {...plan, flows: null, target: await planTarget(cli, session, {...input, inputs: files, connectorId})}
  const flows = await readFlows(flow)
  await assertFlows(session, connectorId, bindFlows(flows, files, files.map(nameOfFile)))
  return {...plan, flows, target: null}
}

const assertFlows = ({client, path}: Session, connectorId: string, flows: Json[]) => client.post(path('flows/check'), {connectorId, flows})

const nameOfFile = ({name}: LocalFile, at: number) => `${at + 1} ${name}`

type TemplateInput = {template: string; connection?: string; files: LocalFile[]; name: string}

const planTemplate = async (session: Session, {template: named, connection, files, name}: TemplateInput): Promise<ImportPlan> => {
  const {template} = await findTemplate(session, named)
  const slots = template.sources.map(({slot}: Json) => slot)
  const connectorId = connection === undefined && template.connectorId ? null : (await chooseConnection(session, connection)).id
  const body = {name, templateId: template.id, ...(connectorId && {connectorId})}
  return {files: fillSlots(files, slots), flows: null, target: null, slots: true, version: template.version, body}
}

type TargetInput = Pick<PlanInput, 'module'> & Existing & {inputs: readonly LocalFile[]; connectorId: string}

const planTarget = async (cli: Cli, session: Session, {module: named, inputs, connectorId, ...existing}: TargetInput) => {
  if (inputs.length > 1) throw usage('Columns are matched for one file only', 'Import the files one by one, or use --template or --flow')
  const module = await chooseModule(cli, session, {connectorId, named, files: inputs})
  const at = session.path(`config/fields/${encodeURIComponent(module.apiName)}`)
  assertStated(cli, {module, fields: (await session.client.get(at, {connector: connectorId})).fields, existing})
  return {module, connectorId}
}

/** Returns the names of the files, cut to the length that the API allows. The cut leaves no half of a character, which the API refuses. */
export const nameOf = (files: readonly Pick<LocalFile, 'name'>[]): string =>
  files
    .map(({name}) => name)
    .join(', ')
    .slice(0, 200)
    .replace(/[\ud800-\udbff]$/, '')

/** Returns the named connection, or the only one that is connected. Throws if none is named and none or several are connected. */
export const chooseConnection = async (session: Session, named: string | undefined): Promise<Json> => {
  if (named !== undefined) return findConnection(session, named)
  const {connectors} = await session.client.get(session.path('connectors'))
  const open = connectors.filter(({state}: Json) => state === 'connected')
  if (open.length === 1) return open[0]
  throw open.length === 0
    ? usage('The org has no connected CRM', 'Ask an admin to connect one in the browser. lading connections lists connections')
    : usage(
        `The org has ${open.length} connections`,
        `Choose one with --connection: ${open.map((one: Json) => clean(one.name)).join(', ')}`,
      )
}
