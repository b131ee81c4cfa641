import {z} from 'zod'
import {Flow, Flows} from '../../shared/flows/flow.ts'
import {ImportSlot} from '../../shared/templates/slots.ts'
import {Answer, Id, Moment, Version} from './common.ts'
import {Source} from './sources.ts'

const inList = {
  id: Id('imp', 'The import'),
  name: z.string().describe('What people call it'),
  connectorId: Id('con', 'The connection it writes through'),
  state: z
    .enum(['draft', 'ready', 'running', 'done', 'expired'])
    .describe('`draft`: files or flows are missing. `running`: a run has it. `expired`: its files and records are gone'),
  version: Version('Raised by every change of its name, its flows or what fills its slots'),
  templateId: Id('tpl', 'The template it was made from').nullable().describe('The template it was made from; null: none'),
  templateVersion: z.int().positive().nullable().describe('The version of that template it was made from; null: there is none'),
  createdBy: Id('per', 'Whoever made it').nullable().describe('Who made it, and may delete it as admins may; null: they were deleted'),
  createdAt: Moment('When it was made'),
  expiredAt: Moment('When its files and records went').nullable().describe('When its files and records went; null: they are there'),
  flows: z.array(Flow).describe('What is written from its files. In an import of a template that still waits, `sourceId` is the slot'),
}

export const ImportInList = Answer(inList).meta({id: 'ImportInList', description: 'An import without its files'})

export const Import = Answer({
  ...inList,
  slots: z.array(ImportSlot).describe('The files its template expects, and which fill them; empty without a template'),
  sources: z.array(Source).describe('Its files, in the order they came'),
}).meta({id: 'Import', description: 'Files, and what of them is written where'})

export const ImportAnswer = Answer({import: Import})

export const FlowsAnswer = Answer({flows: Flows, state: z.literal('ready').describe('Of the import')})

export const Removed = (prefix: string, what: string) => Answer({removed: Id(prefix, what)})
