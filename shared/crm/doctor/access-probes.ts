import {asObject} from '../error.ts'
import {licenceIn} from '../limits/licence.ts'
import {describeAnswer, type Probe, type ProbeContext, unknownFinding} from './probe.ts'

const profileOf = ({user}: ProbeContext) => String(asObject(user.profile)?.id ?? '')

export const accessProbes: Probe[] = [
  {
    id: 'access.administrator',
    fact: 'The CRM lists the user of the connection as an administrator',
    expected: 'Listed by type=AdminUsers',
    consequence: 'Records, modules or fields may be missing. See the warnings of the connection',
    async run({ask, user}) {
      const {rows, ...answer} = await ask({path: '/crm/v8/users', query: {type: 'AdminUsers', per_page: '200'}})
      const isListed = rows.some(({id}) => id === user.id)
      return {seen: isListed ? 'Listed' : `Not listed (${describeAnswer({rows, ...answer})})`, isExpected: isListed}
    },
  },
  {
    id: 'access.profile',
    fact: 'The permissions of the profile can be read',
    expected: 'A list of permissions with their names',
    consequence: 'Only type=AdminUsers shows who is an administrator. A user with a cloned administrator profile may become an operator',
    async run(context) {
      const answer = await context.ask({path: `/crm/v8/settings/profiles/${profileOf(context)}`})
      const names = listIn(answer.rows[0], 'permissions_details').map(permission => permission.name)
      const isExpected = names.some(name => String(name).startsWith('Crm_Implied_'))
      return {seen: isExpected ? `${names.length} permissions` : describeAnswer(answer), isExpected}
    },
  },
  {
    id: 'access.sharing',
    fact: 'No module is private',
    expected: 'Every module is shared',
    consequence: 'Only an administrator sees every record. For other users, a match can miss a record that exists',
    async run({ask}) {
      const answer = await ask({path: '/crm/v8/settings/data_sharing'})
      if (answer.status !== 200) return unknownFinding(describeAnswer(answer))
      const open = answer.rows.filter(({share_type}) => share_type !== 'private')
      const isExpected = open.length === answer.rows.length
      return {seen: isExpected ? 'All are shared' : `${answer.rows.length - open.length} of ${answer.rows.length} are private`, isExpected}
    },
  },
  {
    id: 'org.edition',
    fact: 'The edition of the org and its API credits are known',
    expected: 'A known edition',
    consequence: 'The daily CRM quota is not known in advance. CRM_SLOTS limits the concurrent calls',
    async run({org}) {
      const licence = licenceIn(asObject(org.license_details))
      const allowance = licence?.allowance ?? null
      return {seen: licence ? `${licence.edition}, ${allowance ?? 'credits unknown'}` : 'No edition', isExpected: allowance !== null}
    },
  },
  {
    id: 'org.type',
    fact: 'The CRM says whether the org is a sandbox',
    expected: 'production, sandbox, developer or bigin',
    consequence: 'The writing probes cannot run',
    async run({org}) {
      const isExpected = ['production', 'sandbox', 'developer', 'bigin'].includes(String(org.type).toLowerCase())
      return {seen: String(org.type), isExpected}
    },
  },
  {
    id: 'credits.header',
    fact: 'X-API-CREDITS-REMAINING is absent until half of the daily CRM quota is used',
    expected: 'Absent, or a number of credits',
    consequence: 'The remaining credits are not known until the CRM refuses a call',
    async run({ask}) {
      const {creditsRemaining, status} = await ask({path: '/crm/v8/org'})
      return {seen: creditsRemaining === null ? 'Absent' : String(creditsRemaining), isExpected: status === 200}
    },
  },
  {
    id: 'users.count',
    fact: 'The CRM gives the number of active users',
    expected: 'A number, or digits',
    consequence: 'The connection check shows no number of users',
    async run({ask}) {
      const answer = await ask({path: '/crm/v8/users/actions/count', query: {type: 'ActiveUsers'}})
      const {count} = asObject(answer.json) ?? {}
      return {seen: count === undefined ? describeAnswer(answer) : JSON.stringify(count), isExpected: /^\d+$/.test(String(count))}
    },
  },
]

const listIn = (json: unknown, key: string): Record<string, unknown>[] => {
  const list = asObject(json)?.[key]
  return Array.isArray(list) ? list.map(asObject).filter(one => one !== null) : []
}
