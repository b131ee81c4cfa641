import test from 'ava'
import {openHome} from '../support/cli-process.ts'
import {ok} from '../support/importing.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'
import {beginVisit, comeBack, consent, messageOf, visitOf} from '../support/walk.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t, {workers: ['discovery']})
})

const remedy = /open Setup, Security Control, Profiles.*Zoho CRM API Access/

let orgs = 0
/** Creates a CRM org with a profile for each kind of limited user. The first user is its owner. */
const newCrmOrg = (switches = {}) => {
  const key = `sees${++orgs}`
  const profiles = [
    {name: 'Verwalter', like: 'Administrator' as const},
    {name: 'Verwalter-Kopie', like: 'Administrator' as const, clone: true},
    {name: 'Administrator', like: 'Standard' as const},
    {name: 'Ohne API', like: 'Standard' as const, without: ['Crm_Implied_Api_Access']},
  ]
  const users = ['Verwalter', 'Verwalter-Kopie', 'Administrator', 'Ohne API', 'Standard'].map((profile, at) => ({
    email: `u${at}@${key}.example`,
    firstName: `U${at}`,
    lastName: 'Test',
    profile,
  }))
  const numbers = {prefix: String(8_900_000 + orgs), zgid: String(31_000 + orgs), licences: 5}
  const modules = [{name: 'Leads', fields: [{name: 'Last_Name', type: 'text' as const, mandatory: true}]}]
  house.crm.addOrg({key, companyName: `Company ${key}`, edition: 'enterprise', users, profiles, modules, ...numbers})
  house.crm.setSwitches(switches, key)
  const emailOf = (profile: string) => users.find(user => user.profile === profile)!.email
  return {key, emailOf}
}

const whoIs = async (token: string) => (await house.as(token)('GET', '/auth/me')).body
const connectionsOf = async ({token, org}: {token: string; org: string}) =>
  (await ok(house.as(token)('GET', `/orgs/${org}/connectors`), 200)).connectors
const codesOf = ({warnings}: {warnings: {code: string}[]}) => warnings.map(({code}) => code)

const ROLES = [
  ['an administrator whose profile has another name', 'Verwalter', {}, 'admin'],
  ['a clone of the administrator’s profile', 'Verwalter-Kopie', {}, 'admin'],
  ['a clone that the CRM lists among its administrators', 'Verwalter-Kopie', {clonesAreAdmins: true}, 'admin'],
  ['an ordinary profile that is called Administrator', 'Administrator', {}, 'operator'],
  ['the Standard profile', 'Standard', {}, 'operator'],
] as const

for (const [who, profile, switches, role] of ROLES)
  test(`the role at sign-in comes from what the profile may do: ${who} is ${role}`, async t => {
    const {emailOf} = newCrmOrg(switches)
    await house.signIn(emailOf(profile === 'Standard' ? 'Verwalter' : 'Standard'))
    t.is((await whoIs(await house.signIn(emailOf(profile)))).role, role)
  })

test('a refresh derives the role from the permissions of the profile', async t => {
  const {key, emailOf} = newCrmOrg()
  const owner = await house.signIn(emailOf('Verwalter'))
  await house.connect(owner, {user: emailOf('Verwalter')})
  const token = await house.signIn(emailOf('Standard'))
  const refresh = async () => (await whoIs((await house.as(token)('POST', '/auth/session/refresh')).body.token)).role
  for (const [profile, role] of [
    ['Verwalter-Kopie', 'admin'],
    ['Administrator', 'operator'],
    ['Verwalter', 'admin'],
  ] as const) {
    house.crm.addUser(key, {email: emailOf('Standard'), firstName: 'U4', lastName: 'Test', profile})
    t.is(await refresh(), role, profile)
  }
})

const WARNINGS = [
  ['an administrator sees private modules too', 'Verwalter', {privateModules: 'all'}, []],
  ['a clone that the CRM does not list may not see what is private', 'Verwalter-Kopie', {privateModules: ['Leads']}, ['limitedView']],
  ['a clone sees all if nothing is private', 'Verwalter-Kopie', {}, []],
  ['the CRM names private modules only to an administrator', 'Standard', {}, ['notAdmin', 'limitedView']],
] as const

for (const [what, profile, switches, codes] of WARNINGS)
  test(`a new connection has the warnings of its CRM user: ${what}`, async t => {
    const {emailOf} = newCrmOrg(switches as object)
    const place = await house.makeOrg({role: 'admin'})
    await house.connect(place.token, {user: emailOf(profile)})
    const [connection] = await connectionsOf(place)
    t.deepEqual(codesOf(connection), [...codes])
    for (const {message, remedy} of connection.warnings) t.true(message.length > 20 && remedy.length > 20)
    if (profile === 'Verwalter-Kopie' && codes.length) t.deepEqual(connection.warnings[0].modules, ['Leads'])
    const [checked] = (await house.as(place.token)('GET', `/auth/orgs/${place.org}/connection`)).body.connections
    t.deepEqual(checked.warnings, connection.warnings)
    t.deepEqual(checked.missingScopes, [])
  })

test('a discovery updates the warnings, and the command line shows them', async t => {
  const {key, emailOf} = newCrmOrg({privateModules: ['Leads']})
  const place = await house.makeOrg({role: 'admin'})
  const connectorId = await house.connect(place.token, {user: emailOf('Verwalter')})
  const discover = async () =>
    (await house.as(place.token)('POST', `/orgs/${place.org}/discovery/run`, {connectorId}, {prefer: 'wait=30'})).body.job
  house.crm.addUser(key, {email: emailOf('Verwalter'), firstName: 'U0', lastName: 'Test', profile: 'Verwalter-Kopie'})
  t.like(await discover(), {state: 'done'})
  t.deepEqual(codesOf((await connectionsOf(place))[0]), ['limitedView'])
  const home = openHome({LADING_URL: house.url, LADING_TOKEN: place.token})
  const {err} = await home.run(['connections'])
  t.regex(err.replace(/\s+/g, ' '), /Warning: Example CRM: .*\(Leads\)\. Connect as a CRM administrator/)
  house.crm.addUser(key, {email: emailOf('Verwalter'), firstName: 'U0', lastName: 'Test', profile: 'Ohne API'})
  t.like(await discover(), {state: 'refused', error: {code: 'CRM_REFUSED'}})
  const [limited] = await connectionsOf(place)
  t.deepEqual(codesOf(limited), ['noApiAccess'])
  t.regex(limited.warnings[0].remedy, remedy)
  house.crm.addUser(key, {email: emailOf('Verwalter'), firstName: 'U0', lastName: 'Test', profile: 'Verwalter'})
  t.like(await discover(), {state: 'done'})
  t.deepEqual(codesOf((await connectionsOf(place))[0]), [])
})

test('a consent with a profile without API access is refused with that reason and its remedy', async t => {
  const {emailOf} = newCrmOrg()
  const place = await house.makeOrg({role: 'admin'})
  const visit = visitOf(await house.as(place.token)('POST', `/auth/orgs/${place.org}/connect`, {dc: 'local'}))
  const {status, text} = await comeBack(house.as(null), await consent(visit, {user: emailOf('Ohne API')}), visit.cookie)
  t.is(status, 403)
  t.regex(text.replaceAll('&quot;', '"'), /has no API access/)
  t.regex(text.replaceAll('&quot;', '"'), remedy)
  t.deepEqual(await connectionsOf(place), [])
})

for (const path of ['/crm/v8/users', '/crm/v8/org'])
  test.serial(
    `a consent whose ${path} the CRM refuses without naming a permission is refused for API access, not for a missing CRM`,
    async t => {
      const {emailOf} = newCrmOrg()
      const place = await house.makeOrg({role: 'admin'})
      const visit = visitOf(await house.as(place.token)('POST', `/auth/orgs/${place.org}/connect`, {dc: 'local'}))
      const back = await consent(visit, {user: emailOf('Standard')})
      const body = {code: 'NO_PERMISSION', details: {}, message: 'permission denied', status: 'error'}
      house.crm.faults.add({match: {path}, times: 1, action: {type: 'answer', status: 403, body}})
      const {status, text} = await comeBack(house.as(null), back, visit.cookie)
      t.is(status, 403)
      t.regex(text, /has no API access/)
    },
  )

test('a sign-in with a profile without API access is refused with that reason, unless an invitation waits', async t => {
  const {emailOf} = newCrmOrg()
  const email = emailOf('Ohne API')
  const walk = async () => {
    const visit = await beginVisit(house.as(null))
    return comeBack(house.as(null), await consent(visit, {user: email}), visit.cookie)
  }
  const {status, text} = await walk()
  t.is(status, 403)
  t.regex(text, /has no API access/)
  const place = await house.makeOrg({role: 'admin'})
  await ok(house.as(place.token)('POST', `/orgs/${place.org}/invitations`, {email, role: 'operator'}), 201)
  const {token} = messageOf(await walk())
  t.like(await whoIs(token), {org: null, user: {email}})
})

/** Connects with a consent that lacks one scope. */
const connectWithout = async ({token, org}: {token: string; org: string}, lacking: string) => {
  const asked = visitOf(await house.as(token)('POST', `/auth/orgs/${org}/connect`, {dc: 'local'}))
  const lesser = new URL(asked.url)
  const scopes = lesser.searchParams.get('scope')!.split(',')
  lesser.searchParams.set('scope', scopes.filter(scope => scope !== lacking).join(','))
  const back = await consent({...asked, url: String(lesser)})
  return messageOf(await comeBack(house.as(null), back, asked.cookie)).connectorId as string
}

const SCOPES = [
  ['a route that reads records', 'ZohoCRM.modules.ALL'],
  ['a discovery', 'ZohoCRM.settings.modules.READ'],
] as const

for (const [what, lacking] of SCOPES)
  test(`a missing scope is refused with SCOPE_MISSING and the remedy: ${what}`, async t => {
    const place = await house.makeOrg({role: 'admin'})
    const call = house.as(place.token)
    const connectorId = await connectWithout(place, lacking)
    const {job} = (await call('POST', `/orgs/${place.org}/discovery/run`, {connectorId}, {prefer: 'wait=30'})).body
    const {status, body} = await call('GET', `/orgs/${place.org}/connectors/${connectorId}/records/Leads/by-ids?ids=1&fields=Email`)
    const refused = what === 'a discovery' ? job.error : body
    t.like(refused, {code: 'SCOPE_MISSING'})
    t.regex(refused.error, /Connect the CRM again and accept every scope/)
    if (refused === body) t.like({status, ...body}, {status: 409, crm: {code: 'OAUTH_SCOPE_MISMATCH', status: 401}})
    const [{missingScopes}] = (await call('GET', `/auth/orgs/${place.org}/connection`)).body.connections
    t.deepEqual(missingScopes, [lacking])
  })
