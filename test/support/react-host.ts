import {readFile} from 'node:fs/promises'
import type {Server} from 'node:http'

/**
 * The modules of React for browsers; each follows the modules that it requires. No bundler is installed, so the page defines their
 * `require`.
 */
const modules = {
  react: 'react/cjs/react.development.js',
  scheduler: 'scheduler/cjs/scheduler.development.js',
  'react-dom': 'react-dom/cjs/react-dom.development.js',
  'react-dom/client': 'react-dom/cjs/react-dom-client.development.js',
}
const root = new URL('../../', import.meta.url)

const composeReact = async (): Promise<string> => {
  const parts = Object.entries(modules).map(async ([name, path]) => {
    const source = await readFile(new URL(`node_modules/${path}`, root), 'utf8')
    return `define('${name}', (module, exports) => {\n${source}\n})`
  })
  return [
    "const process = {env: {NODE_ENV: 'development'}}",
    'const modules = {}',
    'const require = name => modules[name].exports',
    'const define = (name, run) => { modules[name] = {exports: {}}; run(modules[name], modules[name].exports) }',
    ...(await Promise.all(parts)),
    "export const {createElement, StrictMode, useEffect, useRef, useState} = require('react')",
    "export const {createRoot} = require('react-dom/client')",
  ].join('\n')
}

const composePage = (lading: string, template: string) => `<!doctype html>
<html lang="en">
<title>React shop</title>
<link rel="icon" href="data:,">
<script type="importmap">{"imports": {"react": "/react.js"}}</script>
<script src="${lading}/embed.js"></script>
<div id="root"></div>
<script type="module">
  import {createElement, createRoot, StrictMode, useState} from 'react'
  import {LadingImport} from '/LadingImport.js'
  const token = async () => (await (await fetch('/embed-token', {method: 'POST'})).json()).token
  const App = () => {
    const [told, tell] = useState([])
    const [isOpen, setOpen] = useState(true)
    const add = text => tell(before => [...before, text])
    const ended = run => add(\`\${run.state}: \${run.counts.Leads.created} created\`)
    const element = {server: '${lading}', template: '${template}', token, onRun: () => add('started'), onEnd: ended}
    return createElement('main', null,
      createElement('button', {onClick: () => setOpen(!isOpen)}, isOpen ? 'Close the import' : 'Open the import'),
      createElement('output', null, told.join('; ')),
      isOpen && createElement(LadingImport, element))
  }
  createRoot(document.getElementById('root')).render(createElement(StrictMode, null, createElement(App)))
</script>
</html>`

/** Makes a host of embedded imports also serve `/react`, a page that renders the React component of the examples. */
export const serveReact = async (server: Server, {lading, template}: {lading: string; template: string}): Promise<void> =>
  serveFiles(server, {
    '/react': ['text/html', composePage(lading, template)],
    '/react.js': ['text/javascript', await composeReact()],
    '/LadingImport.js': ['text/javascript', await readFile(new URL('examples/embed/LadingImport.js', root), 'utf8')],
  })

/** Makes a server also serve `files`, which are named by path. */
export const serveFiles = (server: Server, files: Record<string, [type: string, text: string]>): void => {
  const others = server.listeners('request') as ((...given: unknown[]) => void)[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const file = files[request.url!]
    if (file) response.writeHead(200, {'content-type': `${file[0]}; charset=utf-8`}).end(file[1])
    else for (const answer of others) answer(request, response)
  })
}
