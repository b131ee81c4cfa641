import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {cp, mkdtemp, readdir, readFile, rm, symlink, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {text} from 'node:stream/consumers'
import {fileURLToPath} from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Whether a directory is not source code, or too large to copy. */
const isLeftOut = (name: string) => name.startsWith('.') || name === 'node_modules'

/** One place of the source and its replacement. */
export type Change = {file: string; from: string; to: string}

/**
 * Counts the faults of row R1 in `npm run faults`, here or in a copy of the source with these changes. A text that is not in its file
 * exactly once is an error, as the mutant would be another one. Needs `DATABASE_URL`, like every test.
 */
export const countFaultsOf = async (changes: Change[], asked: string[]): Promise<Record<string, number>> => {
  if (!changes.length) return countIn(root, asked)
  const directory = await mkdtemp(join(tmpdir(), 'lading-mutant-'))
  try {
    const parts = (await readdir(root)).filter(name => !isLeftOut(name))
    await Promise.all(parts.map(part => cp(join(root, part), join(directory, part), {recursive: true})))
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'))
    for (const change of changes) await apply(directory, change)
    return await countIn(directory, asked)
  } finally {
    await rm(directory, {recursive: true})
  }
}

const countIn = async (directory: string, asked: string[]): Promise<Record<string, number>> => {
  const child = spawn(process.execPath, ['test/faults/faults.ts', '--only', 'R1', '--json', ...asked], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (!said.startsWith('{')) throw new Error(`The seeds did not come to their end: ${errors}`)
  const {rows, ...sums} = JSON.parse(said)
  return {...sums, ...rows[0].did, ...rows[0].figures}
}

const apply = async (directory: string, {file, from, to}: Change) => {
  const path = join(directory, file)
  const source = await readFile(path, 'utf8')
  const found = source.split(from).length - 1
  if (found !== 1) throw new Error(`${file} has ${found} times what the mutant changes: ${from}`)
  await writeFile(
    path,
    source.replace(from, () => to),
  )
}
