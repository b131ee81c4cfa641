import {z} from 'zod'
import {Answer, ByName, CrmSaid, Id, Json, Moment, RefusalSaid} from './common.ts'

const dc = z.string().describe('The data centre of the CRM. `generic` for a REST API')
const name = z.string().describe('Name of the connection')
const state = z
  .enum(['connected', 'ended', 'disconnected'])
  .describe('`ended`: the CRM revoked the consent; connect again. `disconnected`: a member disconnected it')
const scopes = z.array(z.string()).describe('Scopes granted by the CRM')

const ConnectionWarning = Answer({
  code: z.enum(['noApiAccess', 'notAdmin', 'limitedView']).describe('Which limit applies to the CRM user'),
  modules: z
    .array(z.string())
    .describe('Modules the warning applies to. Empty if it applies to all modules, or if the CRM does not name them'),
  message: z.string().describe('What the limit means for imports, as one sentence'),
  remedy: z.string().describe('How to remove the limit'),
}).meta({id: 'ConnectionWarning'})

const warnings = z.array(ConnectionWarning).describe('Limits of the CRM user, as read at the last consent or discovery')

export const Connection = Answer({
  id: Id('con', 'The connection'),
  name,
  kind: z.string().meta({description: '`zoho`, or `generic` for a REST API', examples: ['zoho']}),
  dc,
  state,
  crmUserName: z.string().describe('CRM name of the user who consented. Empty for `generic`'),
  scopes,
  writesPaused: z.boolean().describe('Whether writing through the connection is paused'),
  warnings,
  createdAt: Moment('When it was created'),
}).meta({id: 'Connection'})

const ConnectionTrouble = z.union([
  RefusalSaid,
  Answer({error: z.string().describe('What happened, for people'), crm: CrmSaid.describe('What the CRM answered')}),
])

export const CheckedConnection = Answer({
  id: Id('con', 'The connection'),
  name,
  dc,
  state,
  scopes,
  crmOrgId: z.string().describe("The org's id at the CRM"),
  crmUser: Answer({
    id: z.string().describe('Their id at the CRM'),
    name: z.string().describe('Their name at the CRM. Empty for `generic`'),
  }).describe('The user who consented'),
  missingScopes: z
    .array(z.string())
    .describe('Required scopes that were not granted; connect again to grant them. Empty if none are missing'),
  warnings,
  health: z
    .enum(['ok', 'ended', 'disconnected', 'unavailable'])
    .describe('Result of a test call to the CRM. Equals `state` if no call was made'),
  activeUsers: z.int().nonnegative().nullable().describe('Active users of the CRM org. Null: not known'),
  problem: ConnectionTrouble.nullable().describe('Why it is `unavailable`. Null otherwise'),
}).meta({id: 'CheckedConnection'})

export const ConsentUrl = Answer({
  url: z.url().describe('Open it in the browser that sent this request. Valid for ten minutes'),
})

export const Credits = Answer({
  remaining: z
    .int()
    .nullable()
    .describe('Calls left in the daily API quota, as last reported by the CRM. Null: never reported, or more than a day ago'),
  remainingAt: Moment('When the CRM reported it').nullable().describe('When the CRM reported it. Null: never'),
  allowance: z.int().nonnegative().nullable().describe('Daily API quota of the licence. Null: not known'),
  allowanceAtLeast: z.boolean().describe('Whether `allowance` is a lower bound, because the CRM does not report purchased credits'),
  edition: z.string().nullable().describe('The edition of the licence. Null: not known'),
  spent: z.boolean().describe('Whether the CRM refuses calls because the daily quota is exhausted'),
  spentAt: Moment('When it first refused').nullable().describe('When it first refused for that reason. Null: it does not'),
}).meta({id: 'Credits'})

export const CreditCheck = Answer({
  credits: Credits,
  asked: z.boolean().describe('Whether a call was sent to the CRM'),
  answered: z.boolean().describe('Whether the CRM answered, even if only that its quota is exhausted'),
  notAsked: z
    .enum(['cannot', 'too_soon'])
    .nullable()
    .describe(
      'Why no call was sent. `cannot`: this kind of connection has no quota. `too_soon`: a call was sent less than 30 seconds ago. Null: a call was sent, or no worker started the job',
    ),
}).meta({id: 'CreditCheck'})

/** A record as the CRM sends it. Its fields depend on the CRM. Lookups are objects, and subforms are lists of rows. */
export const CrmRecord = ByName(Json('The value of the field, as sent by the CRM'), 'A CRM record, by API names of fields').meta({
  id: 'CrmRecord',
  description:
    'A CRM record as sent by the CRM, by API names of fields. Has always `id`, and `$display_name` if the naming field of the module is filled',
})
