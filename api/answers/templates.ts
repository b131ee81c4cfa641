import {z} from 'zod'
import {Flows} from '../../shared/flows/flow.ts'
import {Slot} from '../../shared/templates/template.ts'
import {Answer, Id, Moment, NextCursor, Version} from './common.ts'
import {Run} from './runs.ts'

const outline = {
  id: Id('tpl', 'The template'),
  name: z.string().describe('What people call it'),
  description: z.string().nullable().describe('What it is for; null: nobody said'),
  connectorId: Id('con', 'The connection its imports are of')
    .nullable()
    .describe('The connection its imports are of; null: whichever they name'),
  version: Version('Which version this is, counted from 1'),
  shared: z.boolean().describe('Whether every member may use it; else only its creator and admins see it'),
  createdBy: z.string().nullable().describe('Who made it, by their name today; null: they were deleted'),
  mine: z.boolean().describe('Whether the asker made it'),
  mayEdit: z.boolean().describe('Whether the asker may change it: its creator and admins, as builders at least'),
  createdAt: Moment('When it was made'),
  updatedAt: Moment('When this version was made'),
}

export const TemplateOutline = Answer(outline).meta({id: 'TemplateOutline', description: 'A template without what it does'})

export const Template = Answer({
  ...outline,
  sources: z.array(Slot).describe('The files an import of it is given'),
  flows: Flows.describe('What is done with them: the `sourceId` of a flow is the slot of one of the sources'),
}).meta({id: 'Template', description: 'What is done with files of one kind. Nothing in it comes from the rows of a file'})

export const TemplatePage = Answer({templates: z.array(TemplateOutline).describe('The newest first'), nextCursor: NextCursor})
export const TemplateRead = Answer({template: Template})
export const TemplateMade = Answer({
  template: Template,
  leftOut: z
    .array(z.string())
    .optional()
    .describe('What of the import a template cannot keep, one sentence each; only where it was saved from one'),
})
export const TemplateRemoved = Answer({removed: Id('tpl', 'The template that was deleted')})

const DRIFTS = [
  ...['column_missing', 'column_new', 'column_moved', 'module_gone', 'module_closed', 'field_gone', 'field_changed', 'field_closed'],
  ...['value_gone', 'required_unmapped', 'match_not_unique', 'library_gone', 'expression_refused', 'flow_refused'],
]

export const Drift = Answer({
  kind: z.enum(DRIFTS).describe('What is otherwise'),
  slot: z.string().optional().describe('The slot of the file'),
  flow: z.string().optional().describe('The id of the flow'),
  module: z.string().optional().describe('The API name of the module'),
  field: z.string().optional().describe('The API name of the field'),
  column: z.string().optional().describe('The column of the file'),
  path: z
    .array(z.union([z.string(), z.int()]))
    .optional()
    .meta({description: "Where in the template's flows", examples: [[0, 'fields', 3, 'field']]}),
  stops: z.boolean().describe('True: rows would be refused, or written otherwise than meant. False: worth knowing'),
  message: z.string().describe('What it is, for a person'),
}).meta({id: 'Drift', description: 'One thing that is not as it was when the template was saved'})

export const TemplateCheck = Answer({
  connectorId: Id('con', 'The connection it was held against'),
  discovery: Answer({id: Id('dis', 'The discovery'), createdAt: Moment('When the CRM was first found to be so')}).describe(
    'The newest discovery of that connection',
  ),
  problems: z.array(Drift).describe('What no longer holds; empty: an import would do what it did when the template was saved'),
})

export const TemplateRuns = Answer({runs: z.array(Run).describe('The newest first'), nextCursor: NextCursor})

export const outlineExample = {
  ...{id: 'tpl_01k9m0v6f8e2r4t7w3y5z1a2b3', name: 'Leads of the fair', description: null, connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3'},
  ...{version: 3, shared: true, createdBy: 'Ana Example', mine: true, mayEdit: true},
  ...{createdAt: '2026-03-01T08:30:00.000Z', updatedAt: '2026-03-04T10:00:00.000Z'},
}

const done = {
  sources: [{slot: 'file1', label: 'Visitors', reader: {}, cleaning: [{step: 'trim' as const}], choices: {}, columns: ['Name', 'E-mail']}],
  flows: [
    {
      ...{id: 'leads', sourceId: 'file1', module: 'Leads', match: {by: ['Email'], onOne: 'update' as const, onMany: 'ask' as const}},
      fields: [
        {field: 'Last_Name', mode: 'column' as const, source: 'Name', empty: 'leave' as const},
        {field: 'Email', mode: 'column' as const, source: 'E-mail', empty: 'leave' as const},
      ],
    },
  ],
}

export const templateDocument = {name: 'Leads of the fair', description: null, connectorId: outlineExample.connectorId, ...done}
export const templateExample = {...outlineExample, ...done}

export const checkExample = {
  connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
  discovery: {id: 'dis_01k9m0v6f8e2r4t7w3y5z1a2b3', createdAt: '2026-03-04T10:00:00.000Z'},
  problems: [
    {
      ...{kind: 'field_gone', slot: 'file1', flow: 'leads', module: 'Leads', field: 'Email', path: [0, 'fields', 1, 'field']},
      ...{stops: true, message: 'Leads has no field Email'},
    },
  ],
}
