import {execFile} from 'node:child_process'
import {cp, glob, mkdir, readFile, rm, stat, writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {gzipSync} from 'node:zlib'
import {routes} from '../../routes.ts'
import {describeApi} from '../document.ts'
import {operationsText} from './operations-text.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const clients = join(root, 'api', 'clients')
/** The modules of `api/clients` in the package, besides the folder `client`. The command line and the widget use them too. */
const sources = ['http.ts', 'retry.ts', 'pause.ts', 'event-stream.ts', 'follow-run.ts', 'send-file.ts']
/** `lib` has what Node 20 has, so that a newer function does not compile. */
const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
  strict: true,
  skipLibCheck: true,
  declaration: true,
  rewriteRelativeImportExtensions: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  removeComments: false,
}

export type ClientSize = {operations: number; bytes: number; gzipped: number}

/** Builds the package `@lading/client` in a folder: JavaScript modules with types, generated from the routes of this release. */
export const buildClient = async (folder: string): Promise<ClientSize> => {
  const draft = join(folder, 'src')
  await rm(folder, {recursive: true, force: true})
  await mkdir(join(draft, 'client'), {recursive: true})
  for (const name of sources) await cp(join(clients, name), join(draft, name))
  await cp(join(clients, 'client'), join(draft, 'client'), {recursive: true})
  const document = describeApi({PUBLIC_URL: 'https://lading.example.com'}, routes)
  await writeFile(join(draft, 'index.ts'), operationsText(document))
  await writeFile(join(draft, 'package.json'), JSON.stringify({type: 'module'}))
  const options = {...compilerOptions, rootDir: '.', outDir: '..'}
  await writeFile(join(draft, 'tsconfig.json'), JSON.stringify({compilerOptions: options, include: ['**/*.ts'], exclude: []}))
  await promisify(execFile)(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', draft]).catch(
    ({stdout, message}) => {
      throw new Error(`The client does not compile: ${stdout || message}`)
    },
  )
  await rm(draft, {recursive: true})
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest(document.info.version), null, 2)}\n`)
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  await cp(join(clients, 'client', 'README.md'), join(folder, 'README.md'))
  return measure(folder)
}

const manifest = (version: string) => ({
  name: '@lading/client',
  version,
  description: 'Client for the API of Lading, generated from its OpenAPI document',
  license: 'Apache-2.0',
  type: 'module',
  engines: {node: '>=20.3'},
  sideEffects: false,
  exports: {'.': {types: './index.d.ts', default: './index.js'}},
})

const measure = async (folder: string): Promise<ClientSize> => {
  let [bytes, gzipped] = [0, 0]
  for await (const name of glob('**/*.js', {cwd: folder})) {
    bytes += (await stat(join(folder, name))).size
    gzipped += gzipSync(await readFile(join(folder, name))).length
  }
  return {operations: routes.length, bytes, gzipped}
}

/** `npm run client`: builds the package and prints its size. */
const main = async ([folder = join(root, '.data', 'client')]: string[]) => {
  const {operations, bytes, gzipped} = await buildClient(resolve(folder))
  const kilobytes = (count: number) => `${(count / 1024).toFixed(1)} KiB`
  process.stdout.write(`${folder}: ${operations} operations, ${kilobytes(bytes)} of JavaScript, ${kilobytes(gzipped)} compressed\n`)
}

if (import.meta.main) await main(process.argv.slice(2))
