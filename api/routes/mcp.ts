import {mountMcp} from '../mcp/mount.ts'
import {buildServer} from '../mcp/server.ts'

export default [mountMcp(buildServer)]
