import {randomUUID} from 'node:crypto'
import {mkdir, mkdtemp, readdir, rm, utimes, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {spool, sweepSpools} from '../../../shared/imports/spool.ts'
import {collect, inPieces} from './chunks.ts'

const open = async (t: ExecutionContext) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-spool-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  return directory
}

test('what is spooled is there whole, as often as it is opened, until it is closed', async t => {
  const spooled = await spool(inPieces('a,b\r\n1,2\r\n', 3), {directory: await open(t)})
  t.is(spooled.bytes, 10)
  for (let time = 0; time < 2; time++) t.is(String(await collect(spooled.open()!)), 'a,b\r\n1,2\r\n')
  await spooled.close()
  await spooled.close()
  t.is(spooled.open(), null)
})

test('several read it at once, each from the beginning', async t => {
  const text = 'lading '.repeat(100_000)
  const spooled = await spool(inPieces(text, 10_000), {directory: await open(t)})
  const read = await Promise.all([1, 2, 3].map(() => collect(spooled.open()!)))
  for (const bytes of read) t.is(String(bytes), text)
  await spooled.close()
})

test('who is reading when it is closed reads to the end', async t => {
  const text = 'lading '.repeat(100_000)
  const spooled = await spool(inPieces(text, 10_000), {directory: await open(t)})
  const body = spooled.open()!
  await spooled.close()
  t.is(String(await collect(body)), text)
})

test('who goes away half-way takes nothing from the others', async t => {
  const text = 'lading '.repeat(100_000)
  const spooled = await spool(inPieces(text, 10_000), {directory: await open(t)})
  const [unread, left, body] = [spooled.open()!, spooled.open()!, spooled.open()!]
  unread.destroy()
  for await (const _ of left) break
  t.is(String(await collect(body)), text)
  t.is(String(await collect(spooled.open()!)), text)
  await spooled.close()
})

test('nothing of it is ever to be found on disk: a process that dies leaves nothing behind', async t => {
  const directory = await open(t)
  const seen: string[][] = []
  async function* looking() {
    yield Buffer.from('a,b\r\n')
    seen.push(await readdir(directory))
  }
  const spooled = await spool(looking(), {directory})
  t.deepEqual([...seen, await readdir(directory)], [[], []])
  await spooled.close()
})

test('what fails half-way leaves no file, and its error is passed on', async t => {
  const directory = await open(t)
  async function* failing() {
    yield Buffer.from('a,b\r\n')
    throw new Error('row 400,000 cannot be read')
  }
  await t.throwsAsync(spool(failing(), {directory}), {message: 'row 400,000 cannot be read'})
  t.deepEqual(await readdir(directory), [])
})

test('what a dead process left is swept after a day, and nothing else of the folder', async t => {
  const directory = await open(t)
  const name = () => `lading-${randomUUID()}`
  const [old, young, folder, others] = [name(), name(), name(), ['lading-world-x', `other-${randomUUID()}`, `${name()}.csv`]]
  for (const file of [old, young, ...others]) await writeFile(join(directory, file), 'x')
  await mkdir(join(directory, folder))
  const at = new Date(Date.now() - 25 * 3_600_000)
  for (const file of [old, folder, ...others]) await utimes(join(directory, file), at, at)
  t.is(await sweepSpools({directory}), 1)
  t.deepEqual((await readdir(directory)).toSorted(), [young, folder, ...others].toSorted())
})
