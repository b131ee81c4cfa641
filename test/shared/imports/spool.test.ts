import {mkdtemp, readdir, rm, stat} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import test, {type ExecutionContext} from 'ava'
import {spool} from '../../../shared/imports/spool.ts'
import {collect, inPieces} from './chunks.ts'

const open = async (t: ExecutionContext) => {
  const directory = await mkdtemp(join(tmpdir(), 'lading-spool-'))
  t.teardown(() => rm(directory, {recursive: true, force: true}))
  return directory
}

test('what is spooled is there whole, as often as it is opened, until it is removed', async t => {
  const directory = await open(t)
  const spooled = await spool(inPieces('a,b\r\n1,2\r\n', 3), {directory})
  t.is(spooled.bytes, 10)
  t.is((await stat(spooled.path)).mode & 0o077, 0)
  for (let time = 0; time < 2; time++) t.is(String(await collect(spooled.open())), 'a,b\r\n1,2\r\n')
  await spooled.remove()
  await spooled.remove()
  t.deepEqual(await readdir(directory), [])
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
