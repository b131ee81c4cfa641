import {createHash} from 'node:crypto'
import {readdir, readFile} from 'node:fs/promises'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {gzip} from 'node:zlib'

/** A file as a browser is given it: TypeScript without its types, each line where it was. */
type WidgetFile = {type: string; body: Buffer; zipped: Buffer}
/** `name` is made of what is in the files: an address with it may be kept for ever. */
export type WidgetBuild = {name: string; files: Map<string, WidgetFile>; styles: string[]}

const root = new URL('clients/', import.meta.url)
const types: Record<string, string> = {ts: 'text/javascript', css: 'text/css', svg: 'image/svg+xml'}

/** Packages the widget imports by name, and the file of each that a browser can read. */
const packages: Record<string, string> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  '@preact/signals': '@preact/signals',
  '@preact/signals-core': '@preact/signals-core',
  htm: 'htm',
  uplot: 'uplot/dist/uPlot.esm.js',
}

/** What the names of packages mean in the browser, for files of this build. */
export const importMapOf = ({name}: Pick<WidgetBuild, 'name'>): string => {
  const addresses = Object.keys(packages).map(key => [key, `/clients/${name}/packages/${key}.js`])
  return JSON.stringify({imports: Object.fromEntries(addresses)})
}

/** Reads all a browser may be given: the widget, what it shares with other clients, and the packages. Some 100 files, done once. */
export const buildWidget = async (): Promise<WidgetBuild> => {
  const own = (await readdir(new URL('widget/', root), {recursive: true})).map(path => `widget/${path}`)
  const shared = (await readdir(root)).filter(path => path.endsWith('.ts') && path !== 'cli.ts')
  const paths = [...own, ...shared].filter(path => extensionOf(path) in types).toSorted()
  const read = await Promise.all([
    ...paths.map(async path => [path, await readOwn(path)] as const),
    ...Object.entries(packages).map(async ([key, name]) => [`packages/${key}.js`, await readPackage(name)] as const),
    readChartStyle(),
  ])
  const files = new Map(await Promise.all(read.map(async ([path, file]) => [path, await zip(file)] as const)))
  const hash = createHash('sha256')
  for (const [path, {body}] of files) hash.update(path).update('\0').update(body).update('\0')
  const styles = [...files.keys()].filter(path => path.endsWith('.css')).toSorted()
  return {name: hash.digest('hex').slice(0, 16), files, styles}
}

type Plain = Omit<WidgetFile, 'zipped'>

const readOwn = async (path: string): Promise<Plain> => {
  const text = await readFile(new URL(path, root), 'utf8')
  const type = types[extensionOf(path)]!
  return {type, body: Buffer.from(path.endsWith('.ts') ? await stripTypes(text) : text)}
}

const stripTypes = async (text: string) => {
  const {transformSync} = await import('amaro')
  return transformSync(text, {mode: 'strip-only'}).code
}

const readPackage = async (name: string): Promise<Plain> => {
  const text = await readFile(fileURLToPath(import.meta.resolve(name)), 'utf8')
  // The map is not served: a browser's tools would ask for it in vain.
  return {type: 'text/javascript', body: Buffer.from(text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'))}
}

const readChartStyle = async () => {
  const text = await readFile(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css')))
  return ['packages/uplot.css', {type: 'text/css', body: text}] as const
}

const zip = async (file: Plain): Promise<WidgetFile> => ({...file, zipped: await promisify(gzip)(file.body)})

const extensionOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)
