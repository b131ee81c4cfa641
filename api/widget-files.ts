import {createHash} from 'node:crypto'
import {readdir, readFile} from 'node:fs/promises'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {gzip} from 'node:zlib'

/** A file that the browser loads. TypeScript files have their types stripped and keep their line numbers. */
type WidgetFile = {type: string; body: Buffer; zipped: Buffer}
/** All files of the widget, by path. `name` is a hash of their contents, so URLs that contain it can be cached for ever. */
export type WidgetBuild = {name: string; files: Map<string, WidgetFile>; styles: string[]}

const root = new URL('clients/', import.meta.url)
const types: Record<string, string> = {ts: 'text/javascript', css: 'text/css', svg: 'image/svg+xml'}

/** Packages the widget imports, and the module of each that browsers can load. */
const packages: Record<string, string> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  '@preact/signals': '@preact/signals',
  '@preact/signals-core': '@preact/signals-core',
  htm: 'htm',
  uplot: 'uplot/dist/uPlot.esm.js',
}

/** Returns the import map that resolves the widget's packages to files of this build. */
export const importMapOf = ({name}: Pick<WidgetBuild, 'name'>): string => {
  const addresses = Object.keys(packages).map(key => [key, `/clients/${name}/packages/${key}.js`])
  return JSON.stringify({imports: Object.fromEntries(addresses)})
}

/** Reads the widget, the code that it shares with other clients, and its packages: about 300 files. In production, call it once per process. */
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
  // Source maps are not served, so the comment that names one is removed.
  return {type: 'text/javascript', body: Buffer.from(text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'))}
}

const readChartStyle = async () => {
  const text = await readFile(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css')))
  return ['packages/uplot.css', {type: 'text/css', body: text}] as const
}

const zip = async (file: Plain): Promise<WidgetFile> => ({...file, zipped: await promisify(gzip)(file.body)})

const extensionOf = (path: string) => path.slice(path.lastIndexOf('.') + 1)
