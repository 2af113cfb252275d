const server = new McpServer({
    name: 'my-app',
    version: '1.0.0'
});
