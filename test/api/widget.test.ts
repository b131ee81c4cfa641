import test from 'ava'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

const open = async () => {
  const page = await (await fetch(`${house.url}/`)).text()
  return {page, main: /src="(\/clients\/\w+\/widget\/main\.ts)"/.exec(page)![1]!}
}

test('everything the page and its scripts import is served, without types and cacheable', async t => {
  const {page, main} = await open()
  const packages = JSON.parse(/<script type="importmap">(.*?)<\/script>/.exec(page)![1]!).imports as Record<string, string>
  const found = new Set([main, ...[...page.matchAll(/href="(\/clients\/[^"]+)"/g)].map(([, path]) => path!)])
  for (const path of found) {
    const answer = await fetch(house.url + path)
    t.is(answer.status, 200, path)
    t.is(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    if (!path.endsWith('.ts')) continue
    const text = await answer.text()
    t.false(/^import type /m.test(text), path)
    for (const [, name] of text.matchAll(/(?:\bfrom |\bimport |\bimport\()'(\.[^']+\.ts|[@\w/-]+)'/g))
      found.add(packages[name!] ?? new URL(name!, house.url + path).pathname)
  }
  t.true(found.size > 100, `${found.size}`)
})

test('scripts requested under another build are served uncached, so that an open page notices the new build', async t => {
  const {main} = await open()
  const own = await fetch(house.url + main, {method: 'HEAD'})
  t.is(own.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  const other = await fetch(house.url + main.replace(/clients\/\w+/, 'clients/0123456789abcdef'))
  t.like({status: other.status, kept: other.headers.get('cache-control')}, {status: 200, kept: 'no-store'})
  t.is(await other.text(), await (await fetch(house.url + main)).text())
})

test('a file that no build has is not found', async t => {
  const {main} = await open()
  for (const path of [main.replace('main', 'nothing'), main.replace('main.ts', '../cli.ts')]) {
    const answer = await fetch(house.url + path)
    t.is(answer.headers.get('cache-control'), 'no-store')
    t.like({status: answer.status, ...((await answer.json()) as object)}, {status: 404, code: 'NOT_FOUND'}, path)
    t.is((await fetch(house.url + path, {method: 'HEAD'})).status, 404)
  }
})
