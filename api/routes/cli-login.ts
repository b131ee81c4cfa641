import {z} from 'zod'
import {File} from '../answers/common.ts'
import {cliPage} from '../cli-page.ts'
import {route} from '../route.ts'

/** Ports a program of a person may listen on. */
const Port = z
  .string()
  .regex(/^[1-9]\d{3,4}$/, 'The port the command line listens on: 1024 to 65535')
  .transform(Number)
  .pipe(z.number().min(1024).max(65_535))

export default [
  route({
    method: 'get',
    path: '/cli',
    access: {public: true},
    summary: 'Let the command line of this machine in',
    description:
      'For a browser: `lading login` opens it. A person signs in there, sees as whom, and lets the command line in, which is handed the session by a form to `127.0.0.1` at the port it said, with the state it said.',
    answers: {200: File('text/html', 'The page')},
    refusals: [],
    example: {query: {port: '49152', state: '0123456789abcdef0123456789abcdef'}},
    query: z.object({
      port: Port.describe('The port the command line listens on, on the same machine as the browser'),
      state: z
        .string()
        .regex(/^[0-9a-f]{32,128}$/, 'What `lading login` made up: hexadecimal, 32 to 128 digits')
        .describe('What the command line knows its own sign-in by; the page shows the first eight digits'),
      dc: z.string().max(20).optional().describe('The data centre to begin with, such as `eu`'),
    }),
    handle: ({config, query}) => cliPage(config, query),
  }),
]
