import type {Role} from '../../shared/accounts/roles.ts'
import type {Call} from './client.ts'
import {ok} from './importing.ts'
import {openRegistry} from './registry.ts'
import type {TestDeployment} from './test-deployment.ts'

/** Creates an org with a connection and its discovery. `as` adds a member with a role. */
export const openTemplates = async (world: TestDeployment) => {
  const home = await openRegistry(world)
  const as = async (role: Role) => {
    const member = await world.makeOrg({role, org: home.org})
    return {...member, call: world.as(member.token)}
  }
  return {...home, as, path: (id: string, more = '') => `/orgs/${home.org}/templates/${id}${more}`}
}

export const outcome = ({status, body}: {status: number; body: any}) => [status, body.code ?? null]

/** Returns a template of one CSV file into Leads. */
export const leadsTemplate = (more: object = {}) => ({
  name: 'Leads of the month',
  description: null,
  connectorId: null,
  sources: [{slot: 'leads', label: 'Leads', reader: {}, cleaning: [], choices: {}, columns: ['surname', 'mail', 'firm']}],
  flows: [
    {
      id: 'f',
      sourceId: 'leads',
      module: 'Leads',
      fields: [
        {field: 'Last_Name', mode: 'column', source: 'surname', empty: 'leave'},
        {field: 'Email', mode: 'column', source: 'mail', empty: 'leave'},
        {field: 'Company', mode: 'expression', transform: 'row.firm.trim()', empty: 'leave'},
      ],
    },
  ],
  ...more,
})

export const makeTemplate = async (call: Call, org: string, more: object = {}) =>
  (await ok(call('POST', `/orgs/${org}/templates`, leadsTemplate(more)), 201)).template

export const leadsCsv = 'surname,mail,firm\nCanary Surname,canary@cells.example, Canary Firm \nOther,other@cells.example,Firm\n'

export const upload = (call: Call, path: string, body: string | Buffer, query = 'name=canary-file.csv') =>
  call('POST', `${path}/sources?${query}`, body, {'content-type': 'application/octet-stream'})
