import {isDeepStrictEqual} from 'node:util'
import {z} from 'zod'
import type {Tx} from '../../sql/database.ts'
import {type HeldFileRow, lockHeldFile, setFileDiscarded, setFiringTemplateVersion} from '../../sql/held-files.ts'
import {findImport, readTemplateFlows, replaceTemplateCopy} from '../../sql/imports.ts'
import {lockSchedule, type Schedule} from '../../sql/schedules.ts'
import type {TemplateRow} from '../../sql/templates.ts'
import {recordChanges} from '../configuration/change.ts'
import {Refusal} from '../errors.ts'
import type {SourceDeps} from '../files/sources/add.ts'
import {lockOpenImport} from '../files/sources/find.ts'
import {deleteImportIn} from '../imports/edit.ts'
import {adaptContract} from '../mapping/data-contracts/adapt.ts'
import type {Breach} from '../mapping/data-contracts/breach.ts'
import {checkImport} from '../mapping/data-contracts/check-import.ts'
import {readContract, saveContract} from '../mapping/data-contracts/store.ts'
import type {Flow} from '../mapping/flows/flow.ts'
import {unbindFlows} from '../mapping/templates/apply.ts'
import {fillSlots} from '../mapping/templates/fill-slots.ts'
import {findVisible, lockEditable} from '../mapping/templates/find.ts'
import {openSlots, slotsOf} from '../mapping/templates/slots.ts'
import {documentOf} from '../mapping/templates/template.ts'
import type {Editor} from '../mapping/templates/write.ts'
import type {Queue} from '../queue.ts'
import {startRun} from '../runs/start.ts'
import {noSchedule, runOptionsOf} from './schedule.ts'

type HeldFileInput = {editor: Editor; template: string; schedule: string; firing: string}
type HeldContract = {files: {slot: string; sourceId: string}[]}
type HeldFile = HeldFileRow & {held: HeldContract}
type LockedFile = {template: TemplateRow; schedule: Schedule; file: HeldFile}

const Files = z.array(z.object({slot: z.string(), sourceId: z.string()}))

type AcceptResult = {runId: string; left: Breach[]}

/**
 * Runs a held file once, as the person who accepts it. The run continues the firing. `adapt` also loosens the contract for later files, except
 * its allowed values. `left`: the breaches for which an editor must state new allowed values; empty without `adapt`.
 */
export const acceptHeldFile = async (
  deps: SourceDeps & {queue: Queue},
  input: HeldFileInput,
  {adapt}: {adapt: boolean},
): Promise<AcceptResult> => {
  const {org} = input.editor
  const {importId, held} = await deps.db.transaction(async tx => {
    const {template, file} = await lockHeld(tx, input)
    const kept = {...file, importId: file.importId ?? refuseGone()}
    await copyCorrectedTemplate(tx, {org, template, file: kept})
    return kept
  })
  const found = await findImport(deps.db, {org, id: importId})
  // An import whose file lacked columns is still a draft, because the file was not read as its slot defines. Filling the slots reads the file,
  // which takes long, so no lock is held meanwhile.
  if (found?.state === 'draft') await fillSlots(deps, {org, importId}, held.files)
  // The stored breaches do not suffice: there are at most 100, and a file that lacked columns was not checked further.
  const {breaches} = adapt ? await checkImport(deps, {org, importId}) : {breaches: []}
  return deps.db.transaction(async tx => {
    const {schedule} = await lockHeld(tx, input)
    const left = adapt ? await loosen(tx, input, breaches) : []
    const {person, rank: role} = input.editor
    const {runId} = await startRun(tx, deps.queue, {
      org,
      person,
      role,
      importId,
      dryRun: false,
      isScheduled: true,
      ...runOptionsOf(schedule),
    })
    await record(tx, input, {schedule, decision: 'accepted'})
    return {runId, left}
  })
}

/**
 * Deletes the import of a held file, unless a person deleted it before. The same file is not run again until the template or its contract changes, or
 * a firing has `again`.
 */
export const discardHeldFile = ({db}: Pick<SourceDeps, 'db'>, input: HeldFileInput): Promise<void> =>
  db.transaction(async tx => {
    const {schedule, file} = await lockHeld(tx, input)
    if (file.importId !== null) await deleteImportIn(tx, input.editor, {id: file.importId, admin: true})
    await setFileDiscarded(tx, file.id)
    await record(tx, input, {schedule, decision: 'discarded'})
  })

type CopyInput = {org: string; template: TemplateRow; file: HeldFile & {importId: string}}

/**
 * Replaces the slots and flows of a held file's import by those of the template's present version. So a person can correct the template and then
 * accept the file. Changes nothing if the import is ready, or if a person changed its flows. Also changes nothing if the template now has another
 * connection or other slots.
 */
const copyCorrectedTemplate = async (tx: Tx, {org, template, file: {id, importId, held}}: CopyInput): Promise<void> => {
  const found = await lockOpenImport(tx, {org, importId})
  const {no, state, templateVersion, connectorId} = found
  const {version} = template
  if (state !== 'draft' || templateVersion === version || (template.connectorId ?? connectorId) !== connectorId) return
  const document = documentOf(template)
  const [slots, heldSlots] = [document.sources, held.files].map(some => some.map(({slot}) => slot).toSorted())
  // A file that was cleaned before it was held is bound to the flows already.
  const flows = unbindFlows(found.flows as Flow[], slotsOf(found))
  if (!isDeepStrictEqual(slots, heldSlots) || !isDeepStrictEqual(flows, await readTemplateFlows(tx, no))) return
  await replaceTemplateCopy(tx, {no, template, slots: openSlots(document), flows: document.flows})
  await setFiringTemplateVersion(tx, {firing: id, version})
}

/** Locks the schedule, then the firing. Refuses a firing whose file does not wait for a decision. */
const lockHeld = async (tx: Tx, {editor, template, schedule: id, firing}: HeldFileInput): Promise<LockedFile> => {
  const {org} = editor
  const found = await findVisible(tx, {...editor, id: template})
  const schedule = (await lockSchedule(tx, {org, template, id})) ?? noSchedule()
  const row = await lockHeldFile(tx, {org, schedule: id, firing})
  if (!row) throw new Refusal('NOT_FOUND', 'No such firing')
  if (!row.isWaiting || row.isRun)
    throw new Refusal('FILE_NOT_HELD', 'The file of this firing does not wait for a decision. List the firings for their states')
  const held = row.contract as HeldContract
  return {template: found, schedule, file: {...row, held: {...held, files: Files.parse(held.files)}}}
}

const refuseGone = (): never => {
  throw new Refusal('FILE_GONE', 'The import of this firing was deleted, and its file with it. Fire the schedule to fetch the file again')
}

const loosen = async (tx: Tx, {editor, template: id}: HeldFileInput, breaches: readonly Breach[]): Promise<Breach[]> => {
  const template = await lockEditable(tx, {...editor, id})
  const before = await readContract(tx, {org: editor.org, template: id})
  const {contract, left} = adaptContract(before, breaches)
  await saveContract(tx, editor, {template, before, contract})
  return left
}

type Decision = {schedule: Schedule; decision: 'accepted' | 'discarded'}

const record = (tx: Tx, {editor, firing}: HeldFileInput, {schedule: {id, connectorId}, decision}: Decision): Promise<void> =>
  recordChanges(tx, editor, [
    {page: 'templates', subject: 'schedule.file', target: id, connectorId, before: null, after: {firing, decision}},
  ])
