import test from 'ava'
import {sql} from '../../sql/database.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const source = 'export const shout = text => String(text).toUpperCase() + "!"\n'
const manifest = (namespace: string, version = '1.0.0') => ({
  namespace,
  version,
  scope: 'org',
  description: 'Says things',
  functions: [
    {
      name: 'shout',
      description: 'Louder',
      parameters: [{name: 'text', type: 'string', description: 'What to say'}],
      returns: {type: 'string', description: 'The same, louder'},
      examples: [{arguments: ['a'], result: 'A!'}],
    },
  ],
})
const whisper = 'export const shout = text => String(text).toUpperCase() + "!!"\n'
const quiet = (namespace: string, version = '1.1.0') => {
  const one = manifest(namespace, version)
  return {...one, functions: [{...one.functions[0]!, examples: [{arguments: ['a'], result: 'A!!'}]}]}
}

/** Creates an org with calls as its owner and, by an API token, as its repository. */
const newOrg = async () => {
  const {org, token, person} = await house.makeOrg()
  const owner = house.as(token)
  const {secret} = (await owner('POST', `/orgs/${org}/tokens`, {name: 'ci'})).body
  const path = `/orgs/${org}/libraries`
  const version = async () => (await owner('GET', `/orgs/${org}/config/registry`)).body.version as number
  const changes = async () => (await owner('GET', `/orgs/${org}/config/changes?page=libraries`)).body.changes
  return {org, person, owner, repository: house.as(secret), path, version, changes}
}

test('a library is published, read and listed', async t => {
  const {owner, path, version, changes, person} = await newOrg()
  const before = await version()
  const answer = await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  t.is(answer.status, 200, answer.text)
  t.like(answer.body.library, {namespace: 'speech', version: '1.0.0', versionNumber: 1, scope: 'org', managedBy: null})
  t.regex(answer.body.library.libraryId, /^lib_/)
  t.deepEqual([answer.body.registryVersion, answer.headers.get('etag')], [undefined, null], 'no condition, no version')
  t.is(await version(), before + 1)
  const one = await owner('GET', `${path}/speech`)
  t.deepEqual(one.body.library, {...answer.body.library, source})
  t.deepEqual((await owner('GET', path)).body, {libraries: [answer.body.library]})
  t.is((await owner('GET', `${path}?source=true`)).body.libraries[0].source, source)
  const after = {libraryId: answer.body.library.libraryId, version: '1.0.0', versionNumber: 1}
  t.like((await changes())[0], {subject: 'library.published', target: 'speech', before: null, after, userId: person, via: 'session'})
})

test('the resolved configuration contains the libraries, and its ETag changes with them and their manager', async t => {
  const {org, owner, path, version} = await newOrg()
  const before = await version()
  const read = (tag?: string) => owner('GET', `/orgs/${org}/config/resolved`, undefined, tag ? {'if-none-match': tag} : {})
  const tags = [(await read()).headers.get('etag')!]
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  for (const managedBy of [null, 'sdk', null, 'sdk'] as const) {
    await owner('PUT', `${path}/speech/management`, {managedBy})
    const {body, headers} = await read(tags.at(-1))
    t.like(body, {registryVersion: before + 1, libraries: [{namespace: 'speech', managedBy}]})
    tags.push(headers.get('etag')!)
    await owner('PUT', `${path}/speech/management`, {managedBy})
    t.is((await read(tags.at(-1))).status, 304, 'a request that changes nothing keeps the tag')
  }
  t.is(new Set(tags).size, 5)
})

test('each publish makes the next version, and a restore publishes an old one as the next', async t => {
  const {owner, path, version, changes} = await newOrg()
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  const second = await owner('PUT', `${path}/speech`, {manifest: quiet('speech'), source: whisper}, {'if-match': String(await version())})
  t.is(second.body.library.versionNumber, 2)
  t.is(second.body.registryVersion, await version())
  t.is(second.headers.get('etag'), `"${await version()}"`)
  const third = await owner('POST', `${path}/speech/versions/1/restore`)
  t.like(third.body.library, {version: '1.0.0', versionNumber: 3})
  t.is((await owner('GET', `${path}/speech`)).body.library.source, source)
  const {versions} = (await owner('GET', `${path}/speech/versions`)).body
  t.deepEqual(
    versions.map((one: any) => [one.versionNumber, one.version, one.restoredFrom]),
    [
      [3, '1.0.0', 1],
      [2, '1.1.0', null],
      [1, '1.0.0', null],
    ],
  )
  const [page] = [(await owner('GET', `${path}/speech/versions?limit=2`)).body]
  t.is(page.versions.length, 2)
  const rest = (await owner('GET', `${path}/speech/versions?limit=2&cursor=${page.nextCursor}`)).body
  t.deepEqual([rest.versions.length, rest.nextCursor], [1, null])
  t.like((await changes())[0], {subject: 'library.restored', after: {versionNumber: 3, restoredFrom: 1}})
})

test('publishing identical content makes no version', async t => {
  const {owner, path, version} = await newOrg()
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  const before = await version()
  const same = await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source}, {'if-match': `"${before}"`})
  t.like(same, {status: 200, body: {registryVersion: before, library: {versionNumber: 1}}})
  const restored = await owner('POST', `${path}/speech/versions/1/restore`, undefined, {'if-match': String(before)})
  t.like(restored, {status: 200, body: {registryVersion: before, library: {versionNumber: 1}}})
  t.is(await version(), before)
  const stale = await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source}, {'if-match': String(before - 1)})
  t.like(stale, {status: 409, body: {code: 'REGISTRY_CONFLICT', registryVersion: before}})
})

test('a library is published by the repository or by people, never by both', async t => {
  const {owner, repository, path} = await newOrg()
  const pushed = await repository('PUT', `${path}/pushed`, {manifest: manifest('pushed'), source})
  t.is(pushed.body.library.managedBy, 'sdk')
  const typed = await owner('PUT', `${path}/typed`, {manifest: manifest('typed'), source})
  t.is(typed.body.library.managedBy, null)
  const refused = async (answering: ReturnType<typeof owner>, managedBy: 'sdk' | null) => {
    const {status, body} = await answering
    t.deepEqual([status, body.code, body.managedBy], [409, 'LIBRARY_MANAGED', managedBy])
  }
  await refused(owner('PUT', `${path}/pushed`, {manifest: quiet('pushed'), source: whisper}), 'sdk')
  await refused(repository('PUT', `${path}/typed`, {manifest: quiet('typed'), source: whisper}), null)
  await refused(owner('POST', `${path}/pushed/versions/1/restore`), 'sdk')
  await refused(repository('POST', `${path}/typed/versions/1/restore`), null)
  await refused(owner('DELETE', `${path}/pushed`), 'sdk')
  await refused(repository('DELETE', `${path}/typed`), null)
})

test('moving a library to the other manager publishes nothing', async t => {
  const {owner, repository, path, version, changes} = await newOrg()
  const {library} = (await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})).body
  const before = await version()
  const move = (body: object) => owner('PUT', `${path}/speech/management`, body)
  t.like((await move({managedBy: 'sdk', libraryId: library.libraryId})).body, {
    changed: true,
    library: {managedBy: 'sdk', versionNumber: 1},
  })
  t.like((await move({managedBy: 'sdk'})).body, {changed: false})
  t.is(await version(), before)
  const told = await changes()
  t.is(told.filter(({subject}: any) => subject === 'library.managedBy').length, 1)
  t.like(told[0], {subject: 'library.managedBy', target: 'speech', before: null, after: 'sdk', registryVersion: null})
  t.is((await repository('PUT', `${path}/speech`, {manifest: quiet('speech'), source: whisper})).status, 200)
  t.like(await repository('PUT', `${path}/speech/management`, {managedBy: null}), {status: 403, body: {code: 'SESSION_REQUIRED'}})
  t.like(await move({managedBy: 'us'}), {status: 400, body: {code: 'INVALID'}})
  t.like(await move({}), {status: 400, body: {code: 'INVALID'}})
  t.like(await owner('PUT', `${path}/nobody/management`, {managedBy: 'sdk'}), {status: 404, body: {code: 'NOT_FOUND'}})
})

test('a library removed and published under the same name is a new library', async t => {
  const {owner, path, version, changes} = await newOrg()
  const first = (await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})).body.library
  const removed = await owner('DELETE', `${path}/speech`, undefined, {'if-match': String(await version())})
  t.like(removed, {status: 200, body: {registryVersion: await version()}})
  t.like((await changes())[0], {subject: 'library.removed', after: null, before: {libraryId: first.libraryId}})
  t.is((await owner('GET', `${path}/speech`)).status, 404)
  t.is((await owner('DELETE', `${path}/speech`)).status, 404)
  const again = (await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})).body.library
  t.not(again.libraryId, first.libraryId)
  t.is(again.versionNumber, 1)
  const moved = await owner('PUT', `${path}/speech/management`, {managedBy: 'sdk', libraryId: first.libraryId})
  t.like(moved, {status: 409, body: {code: 'LIBRARY_REPLACED'}})
  t.is((await owner('GET', `${path}/speech`)).body.library.managedBy, null)
})

test('a library that would not run is refused with the reason', async t => {
  const {owner, path, version} = await newOrg()
  const before = await version()
  const refused = async (namespace: string, body: {manifest: any; source: string}, code: string, place?: object) => {
    const answer = await owner('PUT', `${path}/${namespace}`, body)
    t.deepEqual([answer.status, answer.body.code], [400, code], answer.text)
    if (place) t.like(answer.body, place)
  }
  await refused('speech', {manifest: manifest('other'), source}, 'NAMESPACE_MISMATCH')
  await refused('speech', {manifest: {...manifest('speech'), scope: 'global'}, source}, 'LIBRARY_SCOPE')
  for (const name of ['core', 'trim', 'helpers', 'row', 'Math'])
    await refused(name, {manifest: manifest(name), source}, 'NAMESPACE_RESERVED')
  await refused('speech', {manifest: manifest('speech'), source: `${source}const broken = (\n`}, 'LIBRARY_LOAD', {line: 3})
  await refused('speech', {manifest: manifest('speech'), source: 'export const other = () => 1\n'}, 'LIBRARY_EXPORTS')
  await refused('speech', {manifest: manifest('speech'), source: whisper}, 'LIBRARY_EXAMPLE')
  await refused('speech', {manifest: manifest('speech'), source: `import fs from 'node:fs'\n${source}`}, 'LIBRARY_LOAD', {line: 1})
  const spin = 'export const shout = () => { for (;;); }\n'
  await refused('speech', {manifest: manifest('speech'), source: spin}, 'LIBRARY_EXAMPLE')
  t.like(await owner('PUT', `${path}/speech`, {manifest: {namespace: 'speech'}, source}), {status: 400})
  t.is(await version(), before)
  t.deepEqual((await owner('GET', path)).body.libraries, [])
})

test('publishing and restoring need a plan with libraries; reading and removing do not', async t => {
  const {org, owner, path} = await newOrg()
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  await house.db.query(
    sql.unsafe`insert into plan_versions (id, key, version, limits) select 'bare.1', 'bare', 1, limits from plan_versions limit 1`,
  )
  await house.db.query(sql.unsafe`update orgs set plan_version_id = 'bare.1' where id = ${org}`)
  const refused = {status: 403, body: {code: 'FEATURE_HELPER_LIBRARIES'}}
  t.like(await owner('PUT', `${path}/speech`, {manifest: quiet('speech'), source: whisper}), refused)
  t.like(await owner('POST', `${path}/speech/versions/1/restore`), refused)
  t.is((await owner('GET', `${path}/speech`)).status, 200)
  t.is((await owner('DELETE', `${path}/speech`)).status, 200)
})

test('an unknown version is not found, and a version that is no number is invalid', async t => {
  const {owner, path} = await newOrg()
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  for (const version of ['2', '0', '2147483648', '9'.repeat(400)])
    t.like(await owner('POST', `${path}/speech/versions/${version}/restore`), {status: 404, body: {code: 'NOT_FOUND'}}, version)
  t.like(await owner('POST', `${path}/nobody/versions/1/restore`), {status: 404, body: {code: 'NOT_FOUND'}})
  for (const version of ['v1', '1.5', '-1']) t.is((await owner('POST', `${path}/speech/versions/${version}/restore`)).status, 400)
  t.like(await owner('GET', `${path}/speech/versions?cursor=junk`), {status: 400, body: {code: 'INVALID_CURSOR'}})
})

test('restoring a version that breaks the current rules is refused with the reason', async t => {
  const {owner, path, version} = await newOrg()
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  const {library} = (await owner('PUT', `${path}/speech`, {manifest: quiet('speech'), source: whisper})).body
  const id = library.libraryId
  await house.db.query(
    sql.unsafe`update library_versions set manifest = manifest - 'functions' where library_id = ${id} and version_no = 1`,
  )
  const before = await version()
  const answer = await owner('POST', `${path}/speech/versions/1/restore`)
  t.like(answer, {status: 400, body: {code: 'LIBRARY_LOAD'}})
  t.regex(answer.body.error, /functions/)
  t.is(await version(), before)
})

test('a staff view may give a library to people, never to the repository', async t => {
  const {org, owner, repository, path} = await newOrg()
  await repository('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  const reader = house.as(await house.openView({org}))
  const writer = house.as(await house.openView({org, write: true}))
  const move = {managedBy: null}
  t.like(await reader('PUT', `${path}/speech/management`, move), {status: 403, body: {code: 'IMPERSONATION_READ_ONLY'}})
  t.like(await writer('PUT', `${path}/speech/management`, {managedBy: 'sdk'}), {status: 403, body: {code: 'IMPERSONATION_REFUSED'}})
  t.is((await writer('PUT', `${path}/speech/management`, move)).body.changed, true)
  t.is((await owner('GET', `${path}/speech`)).body.library.managedBy, null)
})

test('of eight concurrent publishes against one version, one succeeds', async t => {
  const {owner, path, version} = await newOrg()
  await owner('PUT', `${path}/speech`, {manifest: manifest('speech'), source})
  const before = await version()
  const answers = await Promise.all(
    Array.from({length: 8}, (_, n) =>
      owner('PUT', `${path}/speech`, {manifest: manifest('speech', `2.0.${n}`), source}, {'if-match': String(before)}),
    ),
  )
  t.is(answers.filter(({status}) => status === 200).length, 1)
  t.is(answers.filter(({body}) => body.code === 'REGISTRY_CONFLICT').length, 7)
  t.is(await version(), before + 1)
  t.is((await owner('GET', `${path}/speech/versions`)).body.versions.length, 2)
})

test('a bundle publishes the libraries of the repository and leaves the others unchanged', async t => {
  const {org, owner, repository, path, version} = await newOrg()
  await owner('PUT', `${path}/typed`, {manifest: manifest('typed'), source})
  const before = await version()
  const libraries = [
    {manifest: manifest('pushed'), source},
    {manifest: quiet('typed'), source: whisper},
    {manifest: manifest('second'), source},
  ]
  const answer = await repository('POST', `/orgs/${org}/config/bundle`, {libraries}, {'if-match': String(before)})
  t.is(answer.status, 200, answer.text)
  t.is(answer.body.warnings.length, 1)
  t.regex(answer.body.warnings[0], /typed/)
  t.is(answer.body.registryVersion, before + 2)
  const listed = (await owner('GET', path)).body.libraries
  t.deepEqual(
    listed.map((one: any) => [one.namespace, one.managedBy, one.versionNumber]),
    [
      ['pushed', 'sdk', 1],
      ['second', 'sdk', 1],
      ['typed', null, 1],
    ],
  )
  const twice = [
    {manifest: manifest('third'), source},
    {manifest: quiet('third'), source: whisper},
  ]
  const repeated = await repository('POST', `/orgs/${org}/config/bundle`, {libraries: twice})
  t.like(repeated, {status: 400, body: {code: 'INVALID'}})
  t.deepEqual(repeated.body.issues[0].path, ['libraries', 1, 'manifest', 'namespace'])
  const long = Array.from({length: 6}, (_, n) => ({manifest: manifest(`long${n}`), source: `${source}// ${'x'.repeat(200_000)}`}))
  t.is((await repository('POST', `/orgs/${org}/config/bundle`, {libraries: long})).status, 200, 'more than a mebibyte of libraries')
  const broken = [{manifest: manifest('pushed', '9.0.0'), source: 'export const shout = (\n'}]
  t.like(await repository('POST', `/orgs/${org}/config/bundle`, {libraries: broken}), {status: 400, body: {code: 'LIBRARY_LOAD'}})
})
