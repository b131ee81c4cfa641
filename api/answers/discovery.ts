import {z} from 'zod'
import {Annotation} from '../../shared/configuration/annotation.ts'
import {DiscoveredField as FieldRow} from '../../sql/discoveries.ts'
import {Answer} from './common.ts'

export const DiscoveredField = Answer({
  apiName: z.string().describe('Name in the API of the CRM. Independent of the label'),
  label: z.string().describe('The label shown in the CRM'),
  type: z.string().meta({description: "The CRM's `data_type`", examples: ['picklist']}),
  jsonType: z.string().nullable().describe("The CRM's `json_type`. Null: not known"),
  length: z.int().nullable().describe('Maximum number of characters. Null: not known'),
  decimalPlaces: z.int().nullable().describe('Digits after the decimal point. Null: not known'),
  required: z.boolean().describe('Whether every create must set it'),
  layoutRequired: z.boolean().describe('Whether a layout requires it. The CRM checks this only for requests that name a layout'),
  unique: Answer({caseSensitive: z.boolean().describe('Whether `a` and `A` are different values')})
    .nullable()
    .describe('Set if the CRM requires unique values. Null: it does not'),
  creatable: z.boolean().describe('Whether a create may set it'),
  updatable: z.boolean().describe('Whether an update may set it'),
  readOnly: z.boolean().describe('Whether only the CRM sets it'),
  visible: z.boolean().describe("Whether it is on a layout that the connection's user can see"),
  picklist: z
    .array(
      Answer({
        display: z.string().describe('The value shown to users, accepted and returned by the CRM'),
        actual: z
          .string()
          .describe('The value stored by the CRM. Differs from `display` if the option was renamed. Accepted wherever `display` is'),
        unused: z.literal(true).optional().describe('On no layout any more, but records may still have it'),
      }),
    )
    .describe('The options. Empty if it is not a picklist'),
  lookup: Answer({module: z.string().describe('The module it refers to')})
    .nullable()
    .describe('The target of a lookup. Null: not a lookup'),
  subform: Answer({module: z.string().describe('The module of its rows')})
    .nullable()
    .describe('The rows of a subform. Null: not a subform'),
  hasDefault: z.literal(true).optional().describe('The CRM fills the field if a create leaves it out. Absent if not'),
  unqueryable: FieldRow.shape.unqueryable.describe(
    'Why rows cannot be matched by this field: the CRM cannot search by it. Absent: rows can be matched by it',
  ),
}).meta({id: 'DiscoveredField'})

export const AnnotatedField = DiscoveredField.extend({
  annotation: Annotation.nullable().describe('The annotation by the org. Null: none'),
}).meta({id: 'AnnotatedField', description: 'A field of the latest discovery, with the annotation by the org'})

export const LayoutName = Answer({
  id: z.string().describe('Id of the layout at the CRM, for the option `layout` of a flow'),
  name: z.string().describe('Name of the layout'),
})

export const AssignmentRule = Answer({
  id: z.string().describe('Id of the rule at the CRM, for the option `assignmentRule` of a flow'),
  name: z.string().describe('Name of the rule'),
})
