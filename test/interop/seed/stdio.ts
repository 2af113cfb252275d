import { McpServer } from 'tenon/server';
import { StdioServerTransport } from 'tenon/server';

const server = new McpServer({
    name: 'example-server',
    version: '1.0.0'
});

// Set up server

const transport = new StdioServerTransport();
await server.connect(transport);
