import {listConnectors} from '../../../sql/connectors.ts'
import {listSharedContracts} from '../../../sql/data-contracts.ts'
import type {Db, Pool, Tx} from '../../../sql/database.ts'
import {listRemovedFields} from '../../../sql/discovered.ts'
import {insertTemplate, lockSharedTemplate, updateTemplate} from '../../../sql/templates.ts'
import type {Author} from '../../configuration/change.ts'
import {invalid} from '../../configuration/modules.ts'
import type {Settings} from '../../configuration/settings.ts'
import {Refusal} from '../../errors.ts'
import type {PublishedLibrary} from '../../expressions/libraries/library.ts'
import {newId} from '../../ids.ts'
import {contractOf} from '../data-contracts/contract.ts'
import {assertContractKept, readContract, saveContract} from '../data-contracts/store.ts'
import {recordTemplate, versionOf} from './change.ts'
import {type Drift, findDrift} from './drift.ts'
import {type BundledTemplate, isSameContent, type Template} from './template.ts'
import {findKnownNow, type KnownNow} from './template-fields.ts'
import {keepVerify} from './verify.ts'
import {knownNow} from './write.ts'

type Pusher = Author & {person: string}
type PushedTemplate = {templates: BundledTemplate[]; libraries: PublishedLibrary[]; settings: Settings | undefined}

/**
 * Checks a bundle's templates before anything is written. Throws INVALID if a template names an unknown connection or lacks a slot of its data
 * contract. Throws TEMPLATE_INVALID with the issues if a template does not fit the newest discovery of its connection, or the libraries. A module or
 * field that only an earlier discovery contains causes a warning instead. A template whose connection has no discovery is not checked against
 * modules. `libraries` and `settings`: the libraries and settings in the bundle.
 */
export const prepareTemplates = async (db: Db, org: string, pushed: PushedTemplate): Promise<{warnings: string[]}> => {
  const {templates} = pushed
  if (templates.length === 0) return {warnings: []}
  const own = new Set((await listConnectors(db, org)).map(({id}) => id))
  const foreign = templates.flatMap(({connectorId}, at) => (connectorId === null || own.has(connectorId) ? [] : [at]))
  if (foreign.length > 0)
    throw invalid(
      foreign.map(at => ({
        code: 'custom',
        path: ['templates', at, 'connectorId'],
        message: 'No such connection. GET …/connectors lists them',
      })),
    )
  await assertContractsKept(db, org, templates)
  const grounds = await readGrounds(db, org, pushed)
  const found = templates.flatMap((template, at) => findProblems(template, grounds).map(problem => ({at, template, problem})))
  const once = await Promise.all(found.map(async ({template, problem}) => wasThere(db, template, problem)))
  const stopping = found.filter((_, at) => !once[at])
  if (stopping.length > 0)
    throw new Refusal(
      'TEMPLATE_INVALID',
      'Templates of the bundle do not fit the CRM or the libraries. Run a discovery, or correct the templates',
      {
        issues: stopping.map(({at, problem: {kind, path = [], message}}) => ({
          code: kind,
          path: ['templates', at, 'flows', ...path],
          message,
        })),
      },
    )
  return {warnings: [...new Set(found.map(({template, problem}) => `${template.name}: ${problem.message}`))]}
}

/** Refuses templates that lack a slot of their stored contract, unless the bundle also replaces the contract. */
const assertContractsKept = async (db: Db, org: string, templates: BundledTemplate[]): Promise<void> => {
  const stored = new Map((await listSharedContracts(db, org)).map(row => [row.name, contractOf(row)]))
  for (const [at, template] of templates.entries()) {
    const contract = stored.get(template.name)
    if (contract && template.contract === undefined) assertContractKept(template, contract, ['templates', at])
  }
}

type TemplateGrounds = Map<string | null, KnownNow>

const readGrounds = async (db: Db, org: string, {templates, libraries, settings}: PushedTemplate): Promise<TemplateGrounds> => {
  const pushed = Object.fromEntries(libraries.map(({manifest}) => [manifest.namespace, manifest.functions.map(({name}) => name)]))
  const grounds: TemplateGrounds = new Map()
  for (const connector of new Set(templates.map(({connectorId}) => connectorId))) {
    const now = await findKnownNow(db, {org, connector})
    grounds.set(connector, {...now, settings: settings ?? now.settings, libraries: {...now.libraries, ...pushed}})
  }
  return grounds
}

const findProblems = (template: Template, grounds: TemplateGrounds): Drift[] => {
  const {modules, discovery, libraries, settings} = grounds.get(template.connectorId)!
  return findDrift(template, {sources: [], modules: discovery ? modules : null, libraries, settings}).filter(({stops}) => stops)
}

/** Whether a discovery recorded the removal of the field, or of any field of the module. */
const wasThere = async (db: Db, {connectorId}: Template, {kind, module, field}: Drift): Promise<boolean> => {
  if (connectorId === null || (kind !== 'field_gone' && kind !== 'module_gone')) return false
  const removed = await listRemovedFields(db, {connector: connectorId, module: module!})
  return kind === 'module_gone' ? removed.length > 0 : removed.some(({field: {apiName}}) => apiName === field)
}

/**
 * Creates or updates shared templates by name. A new template belongs to the pusher; an existing one keeps its owner. Equal content makes
 * no new version.
 */
export const applyTemplates = (db: Pool, pusher: Pusher, templates: BundledTemplate[]): Promise<void> =>
  db.transaction(async tx => {
    // Templates are applied in the order of their names, so that two concurrent pushes cannot deadlock.
    for (const template of templates.toSorted((one, other) => (one.name < other.name ? -1 : 1))) await applyOne(tx, pusher, template)
  })

const applyOne = async (tx: Tx, pusher: Pusher, {contract, ...template}: BundledTemplate): Promise<void> => {
  await applyDocument(tx, pusher, template)
  const stored = (await lockSharedTemplate(tx, {org: pusher.org, name: template.name}))!
  const before = await readContract(tx, {org: pusher.org, template: stored.id})
  // The contract may have changed since `prepareTemplates`.
  if (contract === undefined) assertContractKept(template, before)
  else await saveContract(tx, pusher, {template: stored, before, contract})
}

const applyDocument = async (tx: Tx, pusher: Pusher, template: Template): Promise<void> => {
  const {org, person} = pusher
  const known = await knownNow(tx, org, template)
  const id = newId('tpl')
  const named = {...template, shared: true}
  if (await insertTemplate(tx, {...named, id, org, person, known}))
    return recordTemplate(tx, pusher, {...named, id}, {subject: 'template.created', before: null, after: versionOf({id, version: 1})})
  const before = await lockSharedTemplate(tx, {org, name: template.name})
  // Another member deleted the template, or stopped sharing it, after the insertion found it.
  if (!before) return applyDocument(tx, pusher, template)
  await keepVerify(tx, pusher, before, template.verify)
  if (isSameContent(before, template)) return
  await updateTemplate(tx, {...template, id: before.id, known})
  const after = versionOf({...before, version: before.version + 1})
  await recordTemplate(tx, pusher, before, {subject: 'template.changed', before: versionOf(before), after})
}
