import {z} from 'zod'
import {Connector} from '../../sql/connectors.ts'
import {Answer, Id, Moment} from './common.ts'

const ConnectionWarning = Answer({
  code: z.enum(['noApiAccess', 'notAdmin', 'limitedView']).describe('Which limit applies to the CRM user'),
  modules: z
    .array(z.string())
    .describe('Modules the warning applies to. Empty if it applies to all modules, or if the CRM does not name them'),
  message: z.string().describe('What the limit means for imports, as one sentence'),
  remedy: z.string().describe('How to remove the limit'),
}).meta({id: 'ConnectionWarning'})

export const Connection = Answer({
  id: Id('con', 'The connection'),
  name: z.string().describe('Name of the connection'),
  kind: z.string().meta({description: '`zoho`, or `generic` for a REST API', examples: ['zoho']}),
  dc: z.string().describe('The data centre of the CRM. `generic` for a REST API'),
  state: Connector.shape.state.describe('`ended`: the CRM revoked the consent; connect again. `disconnected`: a member disconnected it'),
  crmUserName: z.string().describe('CRM name of the user who consented. Empty for `generic`'),
  scopes: z.array(z.string()).describe('Scopes granted by the CRM'),
  writesPaused: z.boolean().describe('Whether writing through the connection is paused'),
  warnings: z.array(ConnectionWarning).describe('Limits of the CRM user, as read at the last consent or discovery'),
  createdAt: Moment('When it was created'),
}).meta({id: 'Connection'})
