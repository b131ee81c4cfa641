import {z} from 'zod'
import {Flows} from '../../shared/mapping/flows/flow.ts'
import {TemplateSlot} from '../../shared/mapping/templates/template.ts'
import {VerifyMode} from '../../sql/runs.ts'
import {RecheckProblem} from '../../sql/template-rechecks.ts'
import {Answer, Count, Id, Moment, NextCursor, Version} from '../answers/common.ts'
import {Drift} from '../answers/drift.ts'
import {Run} from '../answers/runs.ts'

const outline = {
  id: Id('tpl', 'The template'),
  name: z.string().describe('The name shown to users'),
  description: z.string().nullable().describe('The purpose. Null: none given'),
  connectorId: Id('con', 'The connection').nullable().describe('The connection of its imports. Null: each import names one'),
  version: Version('The version, from 1'),
  shared: z.boolean().describe('Whether every member may use it. If not, only its creator and admins see it'),
  createdBy: z.string().nullable().describe('Current name of the creator. Null: deleted'),
  mine: z.boolean().describe('Whether you created it'),
  mayEdit: z.boolean().describe('Whether you may change it. Requires the builder role, and to be its creator or an admin'),
  createdAt: Moment('When it was created'),
  updatedAt: Moment('When this version was created'),
}

const TemplateOutline = Answer(outline).meta({id: 'TemplateOutline', description: 'A template without its sources and flows'})

const Template = Answer({
  ...outline,
  sources: z.array(TemplateSlot).describe('The files that its imports need'),
  flows: Flows.describe('The flows. The `sourceId` of a flow is the slot of one of the sources'),
  verify: VerifyMode.describe('Which written rows the runs read back, unless a run or its schedule says otherwise'),
}).meta({id: 'Template', description: 'A reusable set of flows for files of one kind. Contains no data from rows'})

export const TemplatePage = Answer({templates: z.array(TemplateOutline).describe('Newest first'), nextCursor: NextCursor})
export const TemplateRead = Answer({template: Template})

const Recheck = Answer({
  discovery: Id('dis', 'The discovery that it follows'),
  importId: Id('imp', 'The newest import of this version then, whose rows were read'),
  checkedAt: Moment('When it ended'),
  rows: Count('Rows read'),
  problems: z
    .array(
      Answer({
        severity: RecheckProblem.shape.severity.describe('`error`: rows will fail. `warning`: rows may fail, or be written differently'),
        kind: z.string().meta({description: 'The kind of problem, as in the checks of an import', examples: ['not_in_picklist']}),
        flow: z.string().nullable().describe('The id of the flow. Null: none'),
        module: z.string().describe('The API name of the module'),
        field: z.string().nullable().describe('The API name of the changed field. Null: the module'),
        rows: z.int().nonnegative().nullable().describe('Affected rows. Null: the flow itself does not fit'),
        fix: z.string().describe('What to do'),
      }),
    )
    .describe('What changed fields break, at most 50. Empty: nothing'),
})

export const TemplateShown = Answer({
  template: Template,
  recheck: Recheck.nullable().describe(
    'The newest check of its newest import that a change of the CRM caused. Null: no import of this version was checked',
  ),
})

export const TemplateMade = Answer({
  template: Template,
  leftOut: z
    .array(z.string())
    .optional()
    .describe('What the template could not keep of the import, one sentence each. Only if saved from an import'),
})

export const TemplateCheck = Answer({
  connectorId: Id('con', 'The connection it was compared with'),
  discovery: Answer({id: Id('dis', 'The discovery'), createdAt: Moment('When this state of the CRM was first read')}).describe(
    'The latest discovery of that connection',
  ),
  problems: z.array(Drift).describe('The differences. Empty: imports behave as when the template was saved'),
})

export const TemplateRuns = Answer({runs: z.array(Run).describe('Newest first'), nextCursor: NextCursor})

export const outlineExample = {
  id: 'tpl_01k9m0v6f8e2r4t7w3y5z1a2b3',
  name: 'Leads of the fair',
  description: null,
  connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
  version: 3,
  shared: true,
  createdBy: 'Ana Example',
  mine: true,
  mayEdit: true,
  createdAt: '2026-03-01T08:30:00.000Z',
  updatedAt: '2026-03-04T10:00:00.000Z',
}

const done = {
  sources: [{slot: 'file1', label: 'Visitors', reader: {}, cleaning: [{step: 'trim' as const}], choices: {}, columns: ['Name', 'E-mail']}],
  flows: [
    {
      id: 'leads',
      sourceId: 'file1',
      module: 'Leads',
      match: {by: ['Email'], onOne: 'update' as const, onMany: 'ask' as const},
      fields: [
        {field: 'Last_Name', mode: 'column' as const, source: 'Name', empty: 'leave' as const},
        {field: 'Email', mode: 'column' as const, source: 'E-mail', empty: 'leave' as const},
      ],
    },
  ],
}

export const templateBodyExample = {name: 'Leads of the fair', description: null, connectorId: outlineExample.connectorId, ...done}
export const templateExample = {...outlineExample, ...done, verify: 'off' as const}

export const checkExample = {
  connectorId: 'con_01k9m0v6f8e2r4t7w3y5z1a2b3',
  discovery: {id: 'dis_01k9m0v6f8e2r4t7w3y5z1a2b3', createdAt: '2026-03-04T10:00:00.000Z'},
  problems: [
    {
      kind: 'field_gone',
      slot: 'file1',
      flow: 'leads',
      module: 'Leads',
      field: 'Email',
      path: [0, 'fields', 1, 'field'],
      stops: true,
      message: 'Leads has no field Email',
    },
  ],
}
