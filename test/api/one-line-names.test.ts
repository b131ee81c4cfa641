import test from 'ava'
import {openRegistry} from '../support/registry.ts'
import {leadsTemplate} from '../support/templates.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

test('a label in the document of a generic destination has to be one line', async t => {
  const {org, call} = await openRegistry(house)
  const send = (module: string, field: string) => {
    const modules = [{apiName: 'a', label: module, path: '/a', idField: 'key', fields: [{apiName: 'name', label: field, type: 'text'}]}]
    return call('POST', `/orgs/${org}/connectors`, {kind: 'generic', name: 'x', document: {baseUrl: 'https://api.example.com', modules}})
  }
  for (const answer of [await send('a\u001bb', 'Name'), await send('A', 'a\nb')])
    t.like({status: answer.status, ...answer.body}, {status: 400, code: 'INVALID', issues: [{path: ['document']}]})
  t.not((await send('A', 'Name')).body.code, 'INVALID')
})

test('every name refuses control characters and line breaks', async t => {
  const {org, connector, call, at} = await openRegistry(house)
  const template = leadsTemplate()
  const bodies = (name: string): [string, string, object][] => [
    ['PATCH', at('modules/Leads'), {singular: name}],
    ['POST', `/orgs/${org}/tokens`, {name}],
    ['POST', `/orgs/${org}/imports`, {connectorId: connector, name}],
    ['PATCH', `/orgs/${org}/connectors/${connector}`, {name}],
    ['POST', `/auth/orgs/${org}/connect`, {dc: 'local', name}],
    ['POST', `/orgs/${org}/templates`, {...template, name}],
    ['POST', `/orgs/${org}/templates`, {...template, sources: template.sources.map(source => ({...source, label: name}))}],
    ['POST', `/orgs/${org}/invitations`, {email: `${name}@example.org`, role: 'operator'}],
  ]
  for (const control of ['\u001b', '\n', '\r', '\u0085', '\u2028', '\u0007'])
    for (const [method, path, body] of bodies(`a${control}b`)) {
      const {status, body: answer} = await call(method, path, body)
      t.deepEqual([status, answer.code], [400, 'INVALID'], `${method} ${path} ${JSON.stringify(body)}`)
    }
  for (const [method, path, body] of bodies('ab')) t.true((await call(method, path, body)).status < 300, `${method} ${path}`)
})
