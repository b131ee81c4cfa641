import {z} from 'zod'
import {Flow, Flows} from '../../shared/mapping/flows/flow.ts'
import {ImportSlot} from '../../shared/mapping/templates/slots.ts'
import {Answer, Id, Moment, Version} from './common.ts'
import {Run} from './runs.ts'
import {Source} from './sources.ts'

const inList = {
  id: Id('imp', 'The import'),
  name: z.string().describe('The name shown to users'),
  connectorId: Id('con', 'The connection it writes to'),
  state: z
    .enum(['draft', 'ready', 'running', 'done', 'expired'])
    .describe('`draft`: files or flows are missing. `running`: a run is active. `expired`: its files and records were deleted'),
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

export const Removed = (prefix: string, what: string) => Answer({removed: Id(prefix, what)})
