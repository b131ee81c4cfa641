import {z} from 'zod'
import {Answer, Count, Id, Json, Moment} from './common.ts'

const apiName = z.string().describe('Name in the API of the CRM. Independent of the label')

export const DiscoveredField = Answer({
  apiName,
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
  unqueryable: z
    .enum(['encrypted', 'multiline'])
    .optional()
    .describe('Why rows cannot be matched by this field: the CRM cannot search by it. Absent: rows can be matched by it'),
}).meta({id: 'DiscoveredField'})

const moduleFields = {
  apiName,
  label: z.string().describe('The label, in the plural'),
  singular: z.string().describe('The label, in the singular'),
  id: z.string().describe('Its id at the CRM'),
  kind: z
    .enum(['default', 'custom', 'subform'])
    .describe('`default`: built into the CRM. `custom`: added by the CRM org. `subform`: holds the rows of a subform'),
  creatable: z.boolean().describe("Whether the connection's user may create records"),
  editable: z.boolean().describe("Whether the connection's user may change records"),
  visible: z.boolean().describe("Whether the connection's user sees it"),
  subformOf: Answer({
    module: z.string().describe('The module of the parents'),
    field: z.string().describe('The field that holds the rows'),
  })
    .nullable()
    .describe('For `subform`: the parent module and field. Null otherwise'),
  namingField: z.string().nullable().describe('The field that holds the name of a record. Null: none'),
  unread: Answer({
    code: z.string().nullable().describe("The CRM's error code. Null: none"),
    status: z.int().nullable().describe('The HTTP status. Null: the CRM did not answer'),
    message: z.string().describe('What went wrong, as one sentence'),
  })
    .optional()
    .describe(
      'Why this discovery could not read the fields. The fields shown are then those of an earlier discovery, or none. Absent: the fields were read',
    ),
}

export const LayoutName = Answer({
  id: z.string().describe('Id of the layout at the CRM, for the option `layout` of a flow'),
  name: z.string().describe('Name of the layout'),
})

export const AssignmentRule = Answer({
  id: z.string().describe('Id of the rule at the CRM, for the option `assignmentRule` of a flow'),
  name: z.string().describe('Name of the rule'),
})

const writeOptions = {
  layouts: z
    .array(
      Answer({
        ...LayoutName.shape,
        fields: z.array(z.string()).describe('The fields on the layout. The CRM drops other fields of a record that names the layout'),
        required: z.array(z.string()).describe('The fields that the layout requires in a create, and the module does not'),
      }),
    )
    .optional()
    .describe('The active layouts. Absent: none were read'),
  assignmentRules: z
    .array(AssignmentRule)
    .optional()
    .describe('The rules that choose the owner of a new record. Absent: the CRM did not list them'),
  hasWriteOptions: z
    .literal(false)
    .optional()
    .describe('False: the destination has no automations, layouts, assignment rules and tags. Absent: it has them'),
}

const DiscoveredModule = Answer({
  ...moduleFields,
  ...writeOptions,
  fields: z.array(DiscoveredField).describe('Every field, in the order of the CRM'),
}).meta({
  id: 'DiscoveredModule',
})

const Changed = Answer({
  what: z.string().describe('The property'),
  before: Json('The value before'),
  after: Json('The value now'),
})

const names = (what: string) => z.array(z.string()).describe(what)

const DiscoveryDiff = Answer({
  since: Id('dis', 'The previous discovery').nullable().describe('The previous discovery. Null for the first, with the lists empty'),
  added: names('Added modules, by API name'),
  removed: names('Removed modules, by API name'),
  changed: z
    .array(
      Answer({
        module: z.string().describe('API name of the module'),
        changes: z.array(Changed).describe('Changes of the module itself'),
        fields: Answer({
          added: names('Added fields, by API name'),
          removed: names('Removed fields, by API name'),
          changed: z
            .array(
              Answer({field: z.string().describe('API name of the field'), changes: z.array(Changed).describe('Changes of the field')}),
            )
            .describe('Changed fields'),
        }).describe('Changes of its fields'),
      }),
    )
    .describe('Changed modules'),
}).meta({id: 'DiscoveryDiff'})

export const Discovery = Answer({
  id: Id('dis', 'The discovery'),
  createdAt: Moment('When this state of the CRM was first read'),
  seenAt: Moment('When the same state was last read again'),
  connectorId: Id('con', 'The connection'),
  diff: DiscoveryDiff.describe('Changes since the previous discovery'),
  modules: z.array(DiscoveredModule).describe('Every module, by API name'),
}).meta({id: 'Discovery'})

/** The result of a discovery job. */
export const DiscoveryResult = Answer({
  discovery: Id('dis', 'The discovery. An earlier one if nothing changed'),
  modules: Count('Modules found'),
  fields: Count('Fields found, in all modules'),
})
