import test from 'ava'
import {z} from 'zod'
import {routes} from '../../api/routes.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

test('a misspelled expires_at creates no token, and the refusal names the key', async t => {
  const {org, token} = await house.makeOrg()
  const call = house.as(token)
  const {status, body} = await call('POST', `/orgs/${org}/tokens`, {name: 'x', expires_at: '2030-01-01T00:00:00Z'})
  t.like({status, code: body.code}, {status: 400, code: 'INVALID'})
  t.like(body.issues, [{code: 'unrecognized_keys', keys: ['expires_at']}])
  t.deepEqual((await call('GET', `/orgs/${org}/tokens`)).body.tokens, [])
})

test('invitations, members, connect, discovery and the production org refuse an unknown key', async t => {
  const owner = await house.makeOrg()
  const call = house.as(owner.token)
  const {members} = (await call('GET', `/orgs/${owner.org}/members`)).body
  const bodies: [string, string, object][] = [
    ['POST', `/orgs/${owner.org}/invitations`, {email: 'bo@example.org', role: 'operator'}],
    ['PATCH', `/orgs/${owner.org}/members/${members[0].id}`, {role: 'owner'}],
    ['POST', `/auth/orgs/${owner.org}/connect`, {dc: 'local'}],
    ['POST', `/orgs/${owner.org}/discovery/run`, {}],
    ['PUT', `/orgs/${owner.org}/production`, {orgId: null}],
  ]
  for (const [method, path, body] of bodies) {
    const answer = await call(method, path, {...body, colour: 'red'})
    t.like({status: answer.status, code: answer.body.code}, {status: 400, code: 'INVALID'}, path)
    t.like(answer.body.issues, [{code: 'unrecognized_keys', keys: ['colour']}], path)
  }
  t.deepEqual((await call('GET', `/orgs/${owner.org}/invitations`)).body.invitations, [])
})

test('no body schema drops unknown keys at any depth: an object is strict or declared loose', t => {
  const dropping = routes.flatMap(({method, path, body}) =>
    body instanceof z.ZodType
      ? openObjects(z.toJSONSchema(body, {io: 'input', unrepresentable: 'any'})).map(at => `${method} ${path} ${at}`)
      : [],
  )
  t.deepEqual(dropping, [])
})

test('the check finds an object that drops unknown keys in a union inside an array', t => {
  const schema = z.strictObject({items: z.array(z.union([z.string(), z.object({name: z.string()})]))})
  t.is(openObjects(z.toJSONSchema(schema, {io: 'input'})).length, 1)
})

/** Lists the paths of objects that declare keys and have no rule for other keys. Zod silently removes other keys from them. */
const openObjects = (node: unknown, at = '#'): string[] => {
  if (typeof node !== 'object' || node === null) return []
  const isOpen = 'properties' in node && 'type' in node && node.type === 'object' && !('additionalProperties' in node)
  return [...(isOpen ? [at] : []), ...Object.entries(node).flatMap(([key, value]) => openObjects(value, `${at}/${key}`))]
}
