import {z} from 'zod'
import {Answer, ByName, CrmSaid, Id, Json, Moment, RefusalSaid} from './common.ts'

const dc = z.string().describe('The data centre of the CRM; `generic` for a plain REST destination')
const name = z.string().describe("The connection's name, which the org gave it")
const state = z
  .enum(['connected', 'ended', 'disconnected'])
  .describe('`ended`: the CRM took the consent back, connect again. `disconnected`: somebody here ended it')
const scopes = z.array(z.string()).describe('What was consented to, as the CRM names it')

export const Connection = Answer({
  id: Id('con', 'The connection'),
  name,
  kind: z.string().meta({description: 'What it speaks to: `zoho`, or `generic` for a plain REST destination', examples: ['zoho']}),
  dc,
  state,
  crmUserName: z.string().describe('Who consented, by their name at the CRM; empty for `generic`'),
  scopes,
  writesPaused: z.boolean().describe('Whether nothing is written through it until somebody lifts the pause'),
  createdAt: Moment('When it was made'),
}).meta({id: 'Connection'})

const ConnectionTrouble = z.union([
  RefusalSaid,
  Answer({error: z.string().describe('One sentence for a person'), crm: CrmSaid.describe('What the CRM answered')}),
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
    name: z.string().describe('Their name at the CRM; empty for `generic`'),
  }).describe('Who consented'),
  missingScopes: z.array(z.string()).describe('What is needed and was not consented to: connect again. Empty where all is there'),
  health: z
    .enum(['ok', 'ended', 'disconnected', 'unavailable'])
    .describe('What came of one small question to the CRM, asked for this answer; as `state` where none was asked'),
  activeUsers: z.int().nonnegative().nullable().describe('Active users of the CRM org; null: the CRM did not say, or has no users'),
  problem: ConnectionTrouble.nullable().describe('Why it is `unavailable`; null else'),
}).meta({id: 'CheckedConnection'})

export const ConsentUrl = Answer({
  url: z.url().describe('Open it in the browser that made this request: there the CRM asks for consent. Good for ten minutes'),
})

export const Credits = Answer({
  remaining: z
    .int()
    .nullable()
    .describe('API credits left of the last 24 hours, as the CRM told it last; null: never told, or longer than a day ago'),
  remainingAt: Moment('When the CRM told it').nullable().describe('When the CRM told it; null: never'),
  allowance: z.int().nonnegative().nullable().describe('API credits the licence gives in 24 hours; null: not known'),
  allowanceAtLeast: z.boolean().describe('Whether `allowance` is a lower bound: bought credits are not told'),
  edition: z.string().nullable().describe('The edition of the licence; null: not known'),
  spent: z.boolean().describe('Whether the CRM refuses calls because the credits are spent'),
  spentAt: Moment('When it first refused').nullable().describe('When it first refused for that; null: it does not'),
}).meta({id: 'Credits'})

export const CreditCheck = Answer({
  credits: Credits,
  asked: z.boolean().describe('Whether a call was sent to the CRM'),
  answered: z.boolean().describe('Whether the CRM answered it, if only that its day is spent'),
  notAsked: z
    .enum(['cannot', 'too_soon'])
    .nullable()
    .describe('Why no call was sent: this kind of connection has none, or one was sent moments ago; null: one was, or nobody took it'),
}).meta({id: 'CreditCheck'})

/** Whatever fields the CRM has: lookups are objects, subforms lists of rows. */
export const CrmRecord = ByName(Json("The field's value, as the CRM writes it"), "A record of the CRM, by its fields' API names").meta({
  id: 'CrmRecord',
  description:
    "A record of the CRM as the CRM answers it, by its fields' API names: `id` always, `$display_name` where the module has a naming field with something in it",
})
