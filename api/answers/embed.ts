import {z} from 'zod'
import {Answer, ByName, Count, Id, Moment} from './common.ts'

const rowsLimit = Count('The rows that its runs may write in total')

export const EmbedToken = Answer({
  id: Id('emb', 'The token'),
  template: Id('tpl', 'The template of its imports'),
  origin: z.string().describe('The origin of the page that embeds the import'),
  rowsLimit,
  createdAt: Moment('When it was created'),
  expiresAt: Moment('When it expires'),
}).meta({id: 'EmbedToken'})

const EmbedModule = Answer({
  label: z.string().describe('Its plural name in the CRM'),
  fields: ByName(z.string().describe('The name of the field in the CRM'), 'The fields that the template maps, by API name'),
})

export const EmbedSession = Answer({
  org: Answer({
    id: Id('org', 'The org'),
    name: z.string().describe("The org's name"),
    dateFormat: z.string().describe('The date format of its settings'),
  }).describe('The org of the token'),
  template: Answer({id: Id('tpl', 'The template'), name: z.string().describe('Its name')}).describe('The template of its imports'),
  origin: z.string().describe('The origin of the page that embeds the import'),
  rowsLimit,
  rowsLeft: Count('How many of these rows are left'),
  expiresAt: Moment('When the token expires'),
  connection: Answer({
    id: Id('con', 'The connection'),
    name: z.string().describe('Its name'),
    state: z.string().describe('`connected`, or why it cannot be used'),
    writesPaused: z.boolean().describe('Whether an admin paused writing'),
    isDiscovered: z.boolean().describe('Whether its modules and fields are known'),
  })
    .nullable()
    .describe('The connection that imports write to. Null: the org has none, or several and the template names none'),
  modules: ByName(EmbedModule, 'The modules that the template writes, by API name. Empty until they are known'),
}).meta({id: 'EmbedSession'})
