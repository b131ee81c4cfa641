import {z} from 'zod'
import {Flow, Flows} from '../../shared/mapping/flows/flow.ts'
import {ImportSlot} from '../../shared/mapping/templates/slots.ts'
import {Import as ImportRow} from '../../sql/imports.ts'
import {Answer, Id, Moment, Version} from '../answers/common.ts'
import {connectorId, importId, source, sourceId} from '../answers/examples.ts'
import {Run} from '../answers/runs.ts'
import {Source} from '../answers/sources.ts'

export const flow = {
  id: 'accounts',
  sourceId,
  module: 'Accounts',
  match: {by: ['Account_Name'], onOne: 'update', onMany: 'ask'},
  fields: [
    {field: 'Account_Name', mode: 'column', source: 'Company', empty: 'leave'},
    {field: 'Website', mode: 'column', source: 'Web', transform: "value.replace('http://', 'https://')", empty: 'leave'},
  ],
}

export const importInList = {
  id: importId,
  name: 'Accounts of March',
  connectorId,
  state: 'ready',
  version: 2,
  templateId: null,
  templateVersion: null,
  createdBy: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4',
  createdAt: source.createdAt,
  expiredAt: null,
  archivedAt: null,
  flows: [flow],
}

export const wholeImport = {...importInList, slots: [], sources: [source]}

const inList = {
  id: Id('imp', 'The import'),
  name: z.string().describe('The name shown to users'),
  connectorId: Id('con', 'The connection it writes to'),
  state: ImportRow.shape.state.describe(
    '`draft`: files or flows are missing. `running`: a run is active. `expired`: its files and records were deleted',
  ),
  version: Version('Increases with every change of the name, the flows or the slots'),
  templateId: Id('tpl', 'The template').nullable().describe('The template it was created from. Null: none'),
  templateVersion: z.int().positive().nullable().describe('The version of that template. Null: none'),
  createdBy: Id('per', 'The creator').nullable().describe('The creator, who may delete it, as admins may. Null: the person was deleted'),
  createdAt: Moment('When it was created'),
  expiredAt: Moment('When it expired').nullable().describe('When its files and records were deleted. Null: not yet'),
  archivedAt: Moment('When it was archived')
    .nullable()
    .describe('When it was archived, which hides it from the list. Null: it is not archived'),
  flows: z.array(Flow).describe('The flows. In a template import whose slots are not yet filled, `sourceId` is the slot'),
}

export const ImportInList = Answer({
  ...inList,
  lastRun: Run.nullable().optional().describe('Its newest run that is not a dry run. Null: none. Absent: not asked for'),
}).meta({id: 'ImportInList', description: 'An import without its files'})

const Import = Answer({
  ...inList,
  slots: z.array(ImportSlot).describe('The slots of its template and the files that fill them. Empty without a template'),
  sources: z.array(Source).describe('Its files, in upload order'),
}).meta({id: 'Import', description: 'An import: files and the flows that write them'})

export const ImportAnswer = Answer({import: Import})

const FlowWarning = Answer({
  path: z.array(z.union([z.string(), z.int()])).describe('Place in the flows'),
  message: z.string().describe('What a run leaves out, and what to do'),
})

export const CheckedFlows = Answer({
  flows: Flows,
  warnings: z
    .array(FlowWarning)
    .describe('What the flows leave out, although they can be run: values of fields that are not on the layout'),
})

export const FlowsAnswer = CheckedFlows.extend({state: z.literal('ready').describe('State of the import')})
