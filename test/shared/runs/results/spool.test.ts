import {randomUUID} from 'node:crypto'
import {mkdir, mkdtemp, readdir, rm, utimes, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {spool, sweepSpools} from '../../../../shared/runs/results/spool.ts'
import {collect, inPieces} from '../../files/chunks.ts'

const open = async (t: ExecutionContext) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-spool-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  return directory
}

test('a spooled file can be opened repeatedly until it is closed', async t => {
  const spooled = await spool(inPieces('a,b\r\n1,2\r\n', 3), {directory: await open(t)})
  t.is(spooled.bytes, 10)
  for (let time = 0; time < 2; time++) t.is(String(await collect(spooled.open()!)), 'a,b\r\n1,2\r\n')
  await spooled.close()
  await spooled.close()
  t.is(spooled.open(), null)
})

test('concurrent readers each read a spool from the start', async t => {
  const text = 'lading '.repeat(100_000)
  const spooled = await spool(inPieces(text, 10_000), {directory: await open(t)})
  const read = await Promise.all([1, 2, 3].map(() => collect(spooled.open()!)))
  for (const bytes of read) t.is(String(bytes), text)
  await spooled.close()
})

test('a reader of a closed spool can finish', async t => {
  const text = 'lading '.repeat(100_000)
  const spooled = await spool(inPieces(text, 10_000), {directory: await open(t)})
  const body = spooled.open()!
  await spooled.close()
  t.is(String(await collect(body)), text)
})

test('a reader that leaves does not affect the others', async t => {
  const text = 'lading '.repeat(100_000)
  const spooled = await spool(inPieces(text, 10_000), {directory: await open(t)})
  const [unread, left, body] = [spooled.open()!, spooled.open()!, spooled.open()!]
  unread.destroy()
  for await (const _ of left) break
  t.is(String(await collect(body)), text)
  t.is(String(await collect(spooled.open()!)), text)
  await spooled.close()
})

test('a spool has no name on disk, so a dead process leaves no file', async t => {
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

test('a failed spool leaves no file and passes its error on', async t => {
  const directory = await open(t)
  async function* failing() {
    yield Buffer.from('a,b\r\n')
    throw new Error('row 400,000 cannot be read')
  }
  await t.throwsAsync(spool(failing(), {directory}), {message: 'row 400,000 cannot be read'})
  t.deepEqual(await readdir(directory), [])
})

test('spools of dead processes are deleted after a day, and other files are kept', async t => {
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
