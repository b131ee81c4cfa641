import {findConnector, listConnectors} from '../../sql/connectors.ts'
import type {Db} from '../../sql/database.ts'
import {findLatestDiscovery, listDiscoveredModules} from '../../sql/discoveries.ts'
import {readEmbedExpiry, sumEmbedRows} from '../../sql/embed-tokens.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {findDateFormat} from '../configuration/store.ts'
import {Refusal} from '../errors.ts'
import {findVisible} from '../mapping/templates/find.ts'
import {documentOf} from '../mapping/templates/template.ts'
import type {EmbedScope} from './scope.ts'

type EmbedCaller = {org: string; orgName: string; person: string; embed: EmbedScope}

/** Searches with admin rights, because access to the template was checked when the token was created. */
export const findEmbedTemplate = (db: Db, {org, person, embed}: Omit<EmbedCaller, 'orgName'>): Promise<TemplateRow> =>
  findVisible(db, {org, person, rank: 'admin', id: embed.template})

/** Describes what an embedded page may know. */
export const describeEmbed = async (db: Db, caller: EmbedCaller) => {
  const {org, orgName, embed} = caller
  const template = await findEmbedTemplate(db, caller)
  const expiresAt = await readEmbedExpiry(db, embed.id)
  if (expiresAt === null) throw new Refusal('AUTH_REQUIRED', 'This embed token no longer exists. Create a new one')
  return {
    org: {id: org, name: orgName, dateFormat: await findDateFormat(db, org)},
    template: {id: template.id, name: template.name},
    origin: embed.origin,
    rowsLimit: embed.rowsLimit,
    expiresAt,
    rowsLeft: Math.max(0, embed.rowsLimit - (await sumEmbedRows(db, embed.id))),
    ...(await describeTarget(db, org, template)),
  }
}

/**
 * Describes the connection that imports of the template write to, and of its modules only what the template names. The connection is null if the
 * template names none and the org has none.
 */
const describeTarget = async (db: Db, org: string, template: TemplateRow) => {
  const found = await findTarget(db, org, template)
  if (!found) return {connection: null, modules: {}}
  const discovery = await findLatestDiscovery(db, found.id)
  const modules = discovery ? await listDiscoveredModules(db, discovery.id) : []
  const {id, name, state, writesPaused} = found
  return {connection: {id, name, state, writesPaused, isDiscovered: discovery !== null}, modules: nameFields(template, modules)}
}

/**
 * Finds the connection of the template, else the org's only connection or its only connected one. Null if the org has none. Throws
 * CONNECTION_REQUIRED if the org has several.
 */
export const findTarget = async (db: Db, org: string, {connectorId: id}: TemplateRow) => {
  if (id !== null) return findConnector(db, {org, id})
  const all = await listConnectors(db, org)
  const connected = all.filter(({state}) => state === 'connected')
  const [only] = all.length === 1 ? all : connected.length === 1 ? connected : []
  if (only || all.length === 0) return only ?? null
  throw new Refusal(
    'CONNECTION_REQUIRED',
    'The org has several connections, and the template has none. Save the template with a connection',
  )
}

const nameFields = (template: TemplateRow, modules: Awaited<ReturnType<typeof listDiscoveredModules>>) =>
  Object.fromEntries(
    documentOf(template).flows.flatMap(({module: name, fields}) => {
      const module = modules.find(({apiName}) => apiName === name)
      const mapped = new Set(fields.map(({field}) => field))
      const labels = (module?.fields ?? []).filter(({apiName}) => mapped.has(apiName)).map(({apiName, label}) => [apiName, label])
      return module ? [[name, {label: module.label, fields: Object.fromEntries(labels)}]] : []
    }),
  )
