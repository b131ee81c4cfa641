import {z} from 'zod'
import {Answer, Count, Id, Json, Moment} from './common.ts'

const apiName = z.string().describe('Its name in the API of the CRM, which does not change with its label')

export const DiscoveredField = Answer({
  apiName,
  label: z.string().describe('What people call it'),
  type: z.string().meta({description: "The CRM's own `data_type`", examples: ['picklist']}),
  jsonType: z.string().nullable().describe("The CRM's own `json_type`; null: not told"),
  length: z.int().nullable().describe('The most characters it takes; null: not told'),
  decimalPlaces: z.int().nullable().describe('Digits after the decimal point; null: not told'),
  required: z.boolean().describe('Whether every create needs it'),
  layoutRequired: z.boolean().describe('Whether some layout asks for it, which the CRM checks only when a layout is named'),
  unique: Answer({caseSensitive: z.boolean().describe('Whether `a` and `A` are two values')})
    .nullable()
    .describe('Set where no two records may share a value; null: they may'),
  creatable: z.boolean().describe('Whether a create may set it'),
  updatable: z.boolean().describe('Whether an update may set it'),
  readOnly: z.boolean().describe('Whether the CRM alone sets it'),
  visible: z.boolean().describe("Whether it is on a layout the connection's user sees"),
  picklist: z
    .array(
      Answer({
        display: z.string().describe('What people see, and what the CRM takes and returns'),
        actual: z
          .string()
          .describe('What the CRM keeps inside; differs from `display` if the option was renamed. Accepted wherever `display` is'),
        unused: z.literal(true).optional().describe('No layout offers it any more, but records may hold it'),
      }),
    )
    .describe('Its options; empty for what is no picklist'),
  lookup: Answer({module: z.string().describe('The module it points to')})
    .nullable()
    .describe('Null: it points nowhere'),
  subform: Answer({module: z.string().describe('The module of its rows')})
    .nullable()
    .describe('Null: it is no subform'),
}).meta({id: 'DiscoveredField'})

const moduleFields = {
  apiName,
  label: z.string().describe('What people call it, in the plural'),
  singular: z.string().describe('What people call one of it'),
  id: z.string().describe('Its id at the CRM'),
  kind: z.enum(['default', 'custom', 'subform']).describe('Whether it came with the CRM, was made, or holds the rows of a subform'),
  creatable: z.boolean().describe("Whether the connection's user may create records"),
  editable: z.boolean().describe("Whether the connection's user may change records"),
  visible: z.boolean().describe("Whether the connection's user sees it"),
  subformOf: Answer({
    module: z.string().describe('The module of the parents'),
    field: z.string().describe('The field its rows are written in'),
  })
    .nullable()
    .describe('For `subform`: where its rows stand; null else'),
  namingField: z.string().nullable().describe('The field a record is called by; null: there is none'),
}

export const DiscoveredModule = Answer({
  ...moduleFields,
  fields: z.array(DiscoveredField).describe('Every field, in the order of the CRM'),
}).meta({
  id: 'DiscoveredModule',
})

const Changed = Answer({
  what: z.string().describe('Which property of it'),
  before: Json('What it was'),
  after: Json('What it is'),
})

const names = (what: string) => z.array(z.string()).describe(what)

export const DiscoveryDiff = Answer({
  since: Id('dis', 'The discovery before').nullable().describe('The discovery before; null, and the rest empty, for the first'),
  added: names('Modules that came, by API name'),
  removed: names('Modules that went'),
  changed: z
    .array(
      Answer({
        module: z.string().describe('Its API name'),
        changes: z.array(Changed).describe('Of the module itself'),
        fields: Answer({
          added: names('Fields that came, by API name'),
          removed: names('Fields that went'),
          changed: z
            .array(Answer({field: z.string().describe('Its API name'), changes: z.array(Changed).describe('Of the field')}))
            .describe('Fields that changed'),
        }).describe('Of its fields'),
      }),
    )
    .describe('Modules that changed'),
}).meta({id: 'DiscoveryDiff'})

export const Discovery = Answer({
  id: Id('dis', 'The discovery'),
  createdAt: Moment('When the CRM was first found to be so'),
  seenAt: Moment('When it was last found to be so still'),
  connectorId: Id('con', 'The connection'),
  diff: DiscoveryDiff.describe('What changed since the discovery before'),
  modules: z.array(DiscoveredModule).describe('Every module, by API name'),
}).meta({id: 'Discovery'})

/** What the job of a discovery answers. */
export const DiscoveryResult = Answer({
  discovery: Id('dis', 'What was found; an earlier one where nothing changed'),
  modules: Count('Modules found'),
  fields: Count('Fields found, in all modules'),
})
